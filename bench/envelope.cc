// What a call costs without HTTP: the steps of the envelope one by one, then whole calls. CPU time
// is that of the whole process, so what the writer's thread does for a call counts. On an embedded
// database in a fresh folder; `--synchronous=normal` for the other mode.
//
// The transaction's parts are differences: `handler` is write.handler - write.empty, `audit` is
// write.handler_audit - write.handler.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "audit/audit.h"
#include "core/json.h"
#include "daemon/compute.h"
#include "daemon/modules.h"
#include "iam/gate.h"
#include "iam/local/document.h"
#include "iam/local/local_iam.h"
#include "iam/local/token_store.h"
#include "method/passage.h"
#include "method/plugin.h"

extern "C" const compute::method::PluginEntry* better_compute_plugin();

namespace compute::bench {
namespace {

constexpr const char* kIam = R"({"version":1,"tenants":[{"id":"acme"}],
    "policies":[{"tenant":"acme","name":"all","document":{"version":1,"statements":[
        {"effect":"allow","actions":["compute:*"],"resources":["*"]}]}}],
    "identities":[{"tenant":"acme","id":"bench","kind":"service","policies":["all"]}]})";

std::string g_synchronous = "full";  // NOLINT: set once by main

class Folder {
public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "better-compute-bench-XXXXXX";
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path;
};

config::Config config_in(const std::string& folder) {
    config::Config config;
    config.database.url = "sqlite:" + folder + "/bench.db";
    config.database.synchronous = g_synchronous;
    config.database.pool_size = 16;
    config.secret = crypto::Secret(std::string(32, 's'));
    return config;
}

std::vector<method::Module> modules_of(const config::Config& config) {
    std::vector<method::Module> modules = daemon::built_in_modules(config);
    const std::unique_ptr<method::Module> entries(better_compute_plugin()->make());
    modules.push_back(std::move(*entries));
    return modules;
}

// The body that the peers in bench/peers are sent too: 600 bytes.
std::string entry_body() {
    return R"({"tenantId":"acme","id":"evt_0123456789abcdef","type":"resource.created","data":{"pad":")" +
           std::string(500, 'a') + R"("}})";
}

// One control plane for all benchmarks, with an identity that may do everything.
class Plane {
public:
    Plane()
        : modules_(modules_of(config_in(folder_.path))),
          compute(config_in(folder_.path), options()),
          iam_(compute.database(), compute.runtime().clock, compute.runtime().rng),
          gate(iam_, compute.runtime().clock) {
        compute.start();
        const method::Runtime& runtime = compute.runtime();
        token = runtime.database.write([&](store::Transaction& tx) {
            const auto document = iam::local::parse_document(parse_json(kIam));
            (void)iam::local::apply_document(tx, document, {}, runtime.clock.now_ms());
            iam::local::NewToken wanted;
            wanted.tenant_id = "acme";
            wanted.identity_id = "bench";
            wanted.created_by = "bench";
            return iam::local::create_token(tx, wanted, runtime.clock, runtime.rng).token;
        });
        session = gate.authenticate(token);
        pool_id = call("pools/create", {{"tenantId", "acme"}, {"name", "read-me"}})["id"];
    }

    Json call(const std::string& path, Json input) {
        method::Call call;
        call.path = path;
        call.input = std::move(input);
        call.credential = token;
        call.request_id = new_id("req_", compute.runtime().clock, compute.runtime().rng);
        call.source_ip = "127.0.0.1";
        return compute.call(std::move(call));
    }

private:
    daemon::ComputeOptions options() {
        daemon::ComputeOptions options;
        options.migrations = daemon::MigrationPolicy::Apply;
        options.create_database = true;
        options.modules = &modules_;
        return options;
    }

    Folder folder_;
    std::vector<method::Module> modules_;

public:
    daemon::Compute compute;

private:
    iam::local::LocalIam iam_;

public:
    iam::Gate gate;
    crypto::Secret token;
    iam::Session session;
    std::string pool_id;
};

Plane& plane() {
    static Plane plane;
    return plane;
}

const method::RegisteredMethod& entries_create() {
    return *plane().compute.registry().find("plugins/bench/entries/create");
}

iam::Question question() {
    return {
        .tenant_id = TenantId("acme"),
        .action = "compute:bench:create",
        .resource = {"compute-tenant", "acme"},
        .source_ip = "127.0.0.1",
        .request_hash = std::string(64, 'a')};
}

void step_parse(benchmark::State& state) {
    const std::string body = entry_body();
    for (auto _ : state) {
        benchmark::DoNotOptimize(parse_json(body));
    }
}

void step_validate(benchmark::State& state) {
    const Json raw = parse_json(entry_body());
    for (auto _ : state) {
        benchmark::DoNotOptimize(entries_create().definition.validate(raw));
    }
}

void step_authenticate(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(plane().gate.authenticate(plane().token));
    }
}

void step_hash(benchmark::State& state) {
    const Json raw = parse_json(entry_body());
    for (auto _ : state) {
        benchmark::DoNotOptimize(method::request_hash_of(raw));
    }
}

void step_decide(benchmark::State& state) {
    const iam::Question asked = question();
    for (auto _ : state) {
        benchmark::DoNotOptimize(plane().gate.decide_mutation(plane().session, asked));
    }
}

void step_answer(benchmark::State& state) {
    const Json output{{"id", "ent_01h455vb4pex5vsknk084sn02q"}, {"status", "ok"}};
    for (auto _ : state) {
        benchmark::DoNotOptimize("{\"data\":" + dump_json(output) + "}");
    }
}

enum class Part { Empty, Handler, HandlerAndAudit };

void run_part(Part part, const method::Input& input, store::Transaction& tx) {
    if (part == Part::Empty) {
        return;
    }
    const method::Runtime& runtime = plane().compute.runtime();
    method::Context context(runtime);
    context.caller = &plane().session.caller;
    context.session = &plane().session;
    context.tenant_id = TenantId("acme");
    context.tx = &tx;
    benchmark::DoNotOptimize(entries_create().definition.handler(context, input));
    if (part == Part::HandlerAndAudit) {
        const iam::Question asked = question();
        audit::append(
            tx,
            audit::Entry{
                .caller = &plane().session.caller,
                .tenant_id = asked.tenant_id,
                .method = entries_create().path,
                .action = asked.action,
                .resource = asked.resource,
                .decision_reason = "allowed by policy acme/all, statement 1",
                .admission = nullptr,
                .request_id = new_id("req_", runtime.clock, runtime.rng),
                .source_ip = asked.source_ip,
                .parent_id = {}},
            runtime.clock,
            runtime.rng
        );
    }
}

void write_part(benchmark::State& state, Part part) {
    const method::Input input = entries_create().definition.validate(parse_json(entry_body()));
    for (auto _ : state) {
        plane().compute.database().write([&](store::Transaction& tx) { run_part(part, input, tx); }
        );
    }
}

void call_mutation(benchmark::State& state) {
    const Json raw = parse_json(entry_body());
    for (auto _ : state) {
        benchmark::DoNotOptimize(plane().call("plugins/bench/entries/create", raw));
    }
}

void call_admission(benchmark::State& state) {
    const method::Runtime& runtime = plane().compute.runtime();
    for (auto _ : state) {
        const std::string name = new_id("p-", runtime.clock, runtime.rng);
        benchmark::DoNotOptimize(
            plane().call("pools/create", {{"tenantId", "acme"}, {"name", name}})
        );
    }
}

void call_read(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            plane().call("pools/get", {{"tenantId", "acme"}, {"poolId", plane().pool_id}})
        );
    }
}

void add(const char* name, void (*function)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, function)->MeasureProcessCPUTime()->UseRealTime();
}

template <class Function>
void add_threaded(const char* name, Function&& function) {
    for (const int threads : {1, 16, 64}) {
        benchmark::RegisterBenchmark(name, function)
            ->MeasureProcessCPUTime()
            ->UseRealTime()
            ->Threads(threads);
    }
}

}  // namespace
}  // namespace compute::bench

int main(int argc, char** argv) {
    using namespace compute::bench;  // NOLINT: one file
    benchmark::Initialize(&argc, argv);
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--synchronous=normal") == 0) {
            g_synchronous = "normal";
        }
    }
    (void)plane();  // made now, so that no benchmark pays for it
    add("step.parse", step_parse);
    add("step.validate", step_validate);
    add("step.authenticate", step_authenticate);
    add("step.hash", step_hash);
    add("step.decide", step_decide);
    add("step.answer", step_answer);
    add_threaded("write.empty", [](benchmark::State& state) { write_part(state, Part::Empty); });
    add_threaded("write.handler", [](benchmark::State& state) {
        write_part(state, Part::Handler);
    });
    add_threaded("write.handler_audit", [](benchmark::State& state) {
        write_part(state, Part::HandlerAndAudit);
    });
    add_threaded("call.mutation", call_mutation);
    add_threaded("call.admission", call_admission);
    add_threaded("call.read", call_read);
    benchmark::RunSpecifiedBenchmarks();
}
