#include "tests/support/test_plane.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "core/json.h"
#include "iam/projection.h"
#include "store/migrate.h"

namespace compute::support {
namespace {

struct Steps {
    Guarded<std::vector<std::string>> steps;
    std::atomic<int> statements{0};

    void add(std::string_view step) {
        steps.with([&](auto& all) { all.emplace_back(step); });
    }
};

// The same definition, which says "handler", "prepare", ... before each of its functions runs.
method::MethodDefinition observed(method::MethodDefinition definition, Steps& steps) {
    using method::Context;
    using method::Input;
    if (definition.handler) {
        definition.handler = [&steps,
                              f = definition.handler](Context& context, const Input& input) {
            steps.add("handler");
            return f(context, input);
        };
    }
    if (definition.admission) {
        auto& admission = *definition.admission;
        if (admission.prepare) {
            admission.prepare = [&steps, f = admission.prepare](
                                    Context& context, const Input& input, store::Transaction& tx
                                ) {
                steps.add("prepare");
                return f(context, input, tx);
            };
        }
        if (admission.check) {
            admission.check =
                [&steps, f = admission.check](
                    Context& context, const Input& input, const method::Resource& resource
                ) {
                    steps.add("check");
                    f(context, input, resource);
                };
        }
        if (admission.denied) {
            admission.denied = [&steps, f = admission.denied](
                                   Context& context,
                                   const Input& input,
                                   store::Transaction& tx,
                                   const ComputeError& error
                               ) {
                steps.add("denied");
                f(context, input, tx, error);
            };
        }
        if (admission.abandoned) {
            admission.abandoned = [&steps, f = admission.abandoned](
                                      Context& context,
                                      const Input& input,
                                      store::Transaction& tx,
                                      const std::exception& error
                                  ) {
                steps.add("abandoned");
                f(context, input, tx, error);
            };
        }
    }
    if (definition.poll && definition.poll->refresh) {
        definition.poll->refresh = [&steps, f = definition.poll->refresh](
                                       Context& context, const Input& input, const Json& output
                                   ) {
            steps.add("refresh");
            return f(context, input, output);
        };
    }
    return definition;
}

std::vector<outbox::EventFamily> families_of(
    const std::vector<method::Module>& modules, const config::Config& config
) {
    std::vector<outbox::EventFamily> out;
    for (const method::Module& module : modules) {
        out.insert(out.end(), module.event_families.begin(), module.event_families.end());
    }
    for (const config::ExtraEvent& extra : config.events.extra_events) {
        const std::string name =
            extra.type.ends_with(".*") ? extra.type.substr(0, extra.type.size() - 2) : extra.type;
        out.push_back(
            {.name = name,
             .subject = extra.subject,
             .module = extra.module,
             .description = extra.description,
             .types = {}}
        );
    }
    return out;
}

}  // namespace

struct TestPlane::Impl {
    std::unique_ptr<TestDatabase> owned;  // null in a second plane
    TestDatabase* data = nullptr;
    std::unique_ptr<store::Database> second;  // the second plane's handle
    Steps steps;
    std::unique_ptr<RecordingDatabase> database;
    std::vector<method::Module> modules;
    std::unique_ptr<outbox::EventCatalog> catalog;
    method::Registry registry;
    std::unique_ptr<method::Runtime> runtime;
    std::unique_ptr<method::Envelope> envelope;
    std::atomic<int> requests{0};
};

TestPlane::TestPlane(
    store::Engine engine, std::vector<method::Module> modules, config::Config config_in
)
    : config(std::move(config_in)), impl_(std::make_unique<Impl>()) {
    impl_->owned = std::make_unique<TestDatabase>(engine);
    impl_->data = impl_->owned.get();
    build(std::move(modules));
}

TestPlane::TestPlane(TestPlane& other, std::vector<method::Module> modules)
    : clock(other.clock.now_ms()), rng(2), config(other.config), impl_(std::make_unique<Impl>()) {
    impl_->data = other.impl_->data;
    if (impl_->data->engine() == store::Engine::Postgres) {
        impl_->second = impl_->data->open();
    }
    build(std::move(modules));
}

TestPlane::~TestPlane() = default;

void TestPlane::build(std::vector<method::Module> modules) {
    Impl& impl = *impl_;
    if (config.secret.empty()) {
        config.secret = crypto::Secret("a-deployment-secret-for-tests-0001");
    }
    config.database.url = impl.data->url();
    // One process has an SQLite file, so there a second plane shares the handle.
    store::Database& real = impl.second ? *impl.second : impl.data->database();
    impl.database =
        std::make_unique<RecordingDatabase>(real, [&impl](std::string_view step, std::string_view) {
            if (step == "statement" || step == "audit") {
                ++impl.steps.statements;
            }
            if (step != "statement" && step != "before commit") {
                impl.steps.add(step);
            }
        });
    iam.set_on_call([&impl](const IamCall& call) { impl.steps.add(call.what); });

    std::vector<store::Migration> migrations = store::built_in_migrations();
    const std::size_t built_in = migrations.size();
    for (method::Module& module : modules) {
        migrations.insert(migrations.end(), module.migrations.begin(), module.migrations.end());
        for (method::MethodEntry& entry : module.methods) {
            entry.definition = observed(std::move(entry.definition), impl.steps);
        }
    }
    if (migrations.size() > built_in) {
        store::migrate_up(real, migrations, clock.now_ms());
    }
    impl.modules = std::move(modules);
    impl.catalog = std::make_unique<outbox::EventCatalog>(families_of(impl.modules, config));
    for (const method::Module& module : impl.modules) {
        impl.registry.add(module);
    }
    impl.registry.initialize();
    impl.runtime = std::make_unique<method::Runtime>(method::Runtime{
        .database = *impl.database,
        .iam = iam,
        .clock = clock,
        .rng = rng,
        .log = messages,
        .config = config,
        .wake = wake,
        .catalog = *impl.catalog});
    for (const method::Module& module : impl.modules) {
        if (module.on_start) {
            module.on_start(*impl.runtime);
        }
    }
    impl.envelope = std::make_unique<method::Envelope>(
        impl.registry, *impl.runtime, method::EnvelopeOptions{.denials = &denials}
    );
    clear();
}

method::Call TestPlane::call_of(
    const std::string& path, const std::string& credential, const Json& input
) {
    method::Call call;
    call.path = path;
    call.input = input;
    if (!credential.empty()) {
        call.credential = crypto::Secret(credential);
    }
    call.request_id = "req-" + std::to_string(++impl_->requests);
    return call;
}

Json TestPlane::call(const std::string& path, const std::string& credential, const Json& input) {
    return run(call_of(path, credential, input));
}

Json TestPlane::run(method::Call call) {
    return impl_->envelope->run(std::move(call));
}

ComputeError TestPlane::error_of(
    const std::string& path, const std::string& credential, const Json& input
) {
    try {
        const Json output = call(path, credential, input);
        throw std::logic_error(path + " did not fail but answered " + dump_json(output));
    } catch (const ComputeError& error) {
        return error;
    }
}

std::vector<std::string> TestPlane::log() const {
    return impl_->steps.steps.with([](const auto& steps) { return steps; });
}

int TestPlane::count(std::string_view step) const {
    return impl_->steps.steps.with([&](const auto& steps) {
        return static_cast<int>(std::count(steps.begin(), steps.end(), step));
    });
}

int TestPlane::statements() const {
    return impl_->steps.statements;
}

void TestPlane::clear() {
    impl_->steps.steps.with([](auto& steps) { steps.clear(); });
    impl_->steps.statements = 0;
    iam.clear();
}

std::vector<AuditRow> TestPlane::audit() {
    const auto rows = impl_->data->database().query(
        "select id, tenant_id, identity_id, method, action, resource_type, resource_id, "
        "decision_reason, admission, request_id, "
        "source_ip, parent_id from audit_events order by seq"
    );
    std::vector<AuditRow> out;
    for (const store::Row& row : rows) {
        const auto admission = row.find_text(8);
        out.push_back(
            {.id = row.get_text(0),
             .tenant_id = row.get_text(1),
             .identity_id = row.get_text(2),
             .method = row.get_text(3),
             .action = row.get_text(4),
             .resource_type = row.get_text(5),
             .resource_id = row.get_text(6),
             .decision_reason = row.get_text(7),
             .admission = admission ? parse_json(*admission) : Json(),
             .request_id = row.get_text(9),
             .source_ip = row.find_text(10).value_or(""),
             .parent_id = row.find_text(11).value_or("")}
        );
    }
    return out;
}

std::vector<OutboxRow> TestPlane::outbox() {
    const auto rows = impl_->data->database().query(
        "select id, type, tenant_id, subject, data from outbox_events order by seq"
    );
    std::vector<OutboxRow> out;
    for (const store::Row& row : rows) {
        out.push_back(
            {.id = row.get_text(0),
             .type = row.get_text(1),
             .tenant_id = row.get_text(2),
             .subject = row.get_text(3),
             .data = parse_json(row.get_text(4))}
        );
    }
    return out;
}

Json TestPlane::attributes_of(const std::string& type, const std::string& id) {
    return impl_->data->database().read(
        [&](store::Transaction& tx) {
            const auto row = iam::find_projection(tx, {type, id});
            if (!row) {
                return Json();
            }
            Json out = row->attributes ? *row->attributes : Json::object();
            if (row->pending) {
                out.update(*row->pending);
            }
            return out;
        },
        store::Purpose::Iam
    );
}

std::optional<std::chrono::milliseconds> TestPlane::run_reconciler(const std::string& name) {
    for (const method::Module& module : impl_->modules) {
        for (const method::Reconciler& reconciler : module.reconcilers) {
            if (reconciler.name == name) {
                return reconciler.run(*impl_->runtime);
            }
        }
    }
    throw std::logic_error("no reconciler " + name);
}

store::Database& TestPlane::database() {
    return *impl_->database;
}
const method::Runtime& TestPlane::runtime() const {
    return *impl_->runtime;
}
const method::Registry& TestPlane::registry() const {
    return impl_->registry;
}
method::Envelope& TestPlane::envelope() {
    return *impl_->envelope;
}
TestDatabase& TestPlane::test_database() {
    return *impl_->data;
}
void TestPlane::set_crash(std::function<bool(std::string_view step)> crash) {
    impl_->database->set_crash(std::move(crash));
}

}  // namespace compute::support
