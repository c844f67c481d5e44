// `fleet`: a tenant's pools, projects and quotas as one document.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/fleet_diff.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "core/json.h"

namespace compute::cli::commands {

namespace {

constexpr std::size_t kMaxFile = 1U
                                 << 20;  // white space does not travel; the server limits the rest

struct FleetFlags {
    std::string file;
    std::string tenant;
    std::string url;
    std::string expected_hash;
    bool prune = false;
    bool is_confirmed = false;
    bool has_exit_code = false;
};

// As the bearer of the token: over HTTP when there is an address, else on the configured database.
class Bearer {
public:
    Bearer(const CommonOptions& common, const FleetFlags& flags, Console& console)
        : config_(common.load()) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread starts
        const char* variable = std::getenv("BETTER_COMPUTE_URL");
        const std::string url = !flags.url.empty()    ? flags.url
                                : variable == nullptr ? ""
                                                      : variable;
        if (url.empty()) {
            plane_ = std::make_unique<Plane>(config_);
        } else {
            warn_of_plain_http(url, console);
            client_ = std::make_unique<Client>(url, config_, bearer_token(config_));
        }
    }

    [[nodiscard]] Json call(const std::string& path, const Json& input) {
        return client_ ? client_->call(path, input)
                       : plane_->call_as_bearer(path, input, bearer_token(config_));
    }
    [[nodiscard]] const config::Config& config() const { return config_; }

private:
    config::Config config_;
    std::unique_ptr<Plane> plane_;
    std::unique_ptr<Client> client_;
};

Json read_document(const std::string& file) {
    return read_json_file(file, "better-compute fleet export writes one", kMaxFile);
}

std::string tenant_of(const Json& document) {
    return document.is_object() ? document.value("tenantId", "?") : "?";
}

Json plan_input(const FleetFlags& flags, const Json& document) {
    Json input{{"document", document}};
    if (flags.prune) {
        input["prune"] = true;
    }
    return input;
}

int plan(const CommonOptions& common, const FleetFlags& flags, Console& console) {
    common.apply(console);
    const Json document = read_document(flags.file);
    const Json answer =
        Bearer(common, flags, console).call("fleet/plan", plan_input(flags, document));
    if (common.is_json) {
        console.json(answer);
    } else {
        print_plan(answer, tenant_of(document), console);
    }
    const bool changes_something = !answer.at("calls").empty();
    if (!answer.at("blocked").empty() || (flags.has_exit_code && changes_something)) {
        return kExitRefused;
    }
    return kExitOk;
}

// What a person has seen is what is applied: the hash of the plan shown goes with the call.
int apply(const CommonOptions& common, const FleetFlags& flags, Console& console) {
    common.apply(console);
    const Json document = read_document(flags.file);
    Json input = plan_input(flags, document);
    if (!flags.expected_hash.empty()) {
        input["expectedPlanHash"] = flags.expected_hash;
    }
    Bearer bearer(common, flags, console);
    const bool is_agreed = flags.is_confirmed || !flags.expected_hash.empty();
    if (!is_agreed) {
        const Json shown = bearer.call("fleet/plan", plan_input(flags, document));
        if (!common.is_json) {
            print_plan(shown, tenant_of(document), console);
        }
        if (!shown.at("calls").empty() && shown.at("blocked").empty()) {
            if (!console.is_interactive()) {
                throw UsageError(
                    "fleet apply: needs --yes or --expected-plan-hash in a script",
                    "better-compute fleet plan shows what it would do"
                );
            }
            console.flush();
            if (!console.confirm("apply this plan?")) {
                throw ComputeError(ErrorCode::InvalidState, "nothing was applied");
            }
        }
        input["expectedPlanHash"] = shown.at("planHash");
    }
    const Json answer = bearer.call("fleet/apply", input);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    if (is_agreed) {
        print_plan(answer.at("plan"), tenant_of(document), console);
    }
    const auto applied = answer.at("applied").get<std::int64_t>();
    console.line(
        applied == 0
            ? "nothing to do"
            : "applied " + std::to_string(applied) + (applied == 1 ? " change" : " changes")
    );
    return kExitOk;
}

// The file is there whole or not at all.
void write_whole(const std::string& path, const std::string& text) {
    const std::string part = path + ".part";
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    std::error_code error;
    if (out) {
        std::filesystem::rename(part, path, error);
    }
    if (!out || error) {
        std::error_code ignored;
        std::filesystem::remove(part, ignored);
        throw invalid_input(path + ": cannot be written");
    }
}

int export_fleet(const CommonOptions& common, const FleetFlags& flags, Console& console) {
    common.apply(console);
    Bearer bearer(common, flags, console);
    const std::string tenant =
        flags.tenant.empty() ? bearer.config().iam.root_tenant : flags.tenant;
    const Json answer = bearer.call("fleet/export", {{"tenantId", tenant}});
    const std::string text =
        answer.at("document").dump(2, ' ', false, Json::error_handler_t::replace);
    if (!flags.file.empty()) {
        write_whole(flags.file, text + "\n");
    }
    if (common.is_json) {
        console.json(answer);
    } else if (flags.file.empty()) {
        console.line(text);
    } else {
        console.line("wrote " + flags.file);
    }
    for (const Json& pool : answer.at("expected")) {
        console.note(
            "pool " + printable(pool.at("pool").get<std::string>()) + ": " +
            std::to_string(pool.at("nodes").get<std::int64_t>()) +
            " of its nodes have not joined yet"
        );
    }
    return kExitOk;
}

void add_url(const Definition& definition, FleetFlags& flags) {
    definition.app()
        .add_option(
            "--url", flags.url, "Calls this server instead of the database; else BETTER_COMPUTE_URL"
        )
        ->type_name("URL");
}

void add_document(const Definition& definition, FleetFlags& flags) {
    definition.app()
        .add_option("FILE", flags.file, "The document, JSON; - is standard input")
        ->required();
    definition.app().add_flag(
        "--prune", flags.prune, "Takes away what an apply created and the document no longer has"
    );
    add_url(definition, flags);
}

}  // namespace

void define_fleet(const Definition& definition) {
    {
        const auto sub = definition.sub(
            "export",
            "Prints a tenant's fleet as a document, or writes it to a file",
            "better-compute fleet export --tenant acme fleet.json"
        );
        const auto common = add_common(sub);
        const auto flags = std::make_shared<FleetFlags>();
        sub.app().add_option("FILE", flags->file, "Where to write it; else standard output");
        sub.app()
            .add_option("--tenant", flags->tenant, "Whose fleet; else the root tenant's")
            ->type_name("TENANT");
        add_url(sub, *flags);
        sub.run([common, flags](Console& console) { return export_fleet(*common, *flags, console); }
        );
    }
    {
        const auto sub = definition.sub(
            "plan",
            "Shows what applying a document would change",
            "better-compute fleet plan fleet.json\nbetter-compute fleet plan fleet.json --exit-code"
        );
        const auto common = add_common(sub);
        const auto flags = std::make_shared<FleetFlags>();
        add_document(sub, *flags);
        sub.app().add_flag(
            "--exit-code", flags->has_exit_code, "Exits with 1 when something would change"
        );
        sub.run([common, flags](Console& console) { return plan(*common, *flags, console); });
    }
    {
        const auto sub = definition.sub(
            "apply",
            "Makes a tenant's fleet what a document says, all or nothing",
            "better-compute fleet apply fleet.json\nbetter-compute fleet apply fleet.json --prune "
            "--yes"
        );
        const auto common = add_common(sub);
        const auto flags = std::make_shared<FleetFlags>();
        add_document(sub, *flags);
        sub.app()
            .add_option(
                "--expected-plan-hash",
                flags->expected_hash,
                "Applies only the plan with this hash, without asking"
            )
            ->type_name("HASH");
        sub.app().add_flag("--yes", flags->is_confirmed, "Does not ask");
        sub.run([common, flags](Console& console) { return apply(*common, *flags, console); });
    }
}

}  // namespace compute::cli::commands
