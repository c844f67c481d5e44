#include <nlohmann/json.hpp>

#include "cli/cells.h"
#include "cli/commands/audit_seals.h"
#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/plane.h"

namespace compute::cli::commands {

namespace {

struct AuditFlags {
    std::string tenant;
    std::string since;
    std::string actor;
    std::string action;
    std::string request;
    int limit = 100;
};

int list(const CommonOptions& common, const AuditFlags& flags, Console& console) {
    common.apply(console);
    Json input = {{"limit", flags.limit}};
    const std::pair<const char*, const std::string*> texts[] = {
        {"tenantId", &flags.tenant},
        {"actor", &flags.actor},
        {"action", &flags.action},
        {"requestId", &flags.request}};
    for (const auto& [name, value] : texts) {
        if (!value->empty()) {
            input[name] = *value;
        }
    }
    if (!flags.since.empty()) {
        input["since"] = time_of_argument(flags.since, "--since", SystemClock().now_ms());
    }
    Plane plane(common.load());
    const Json answer = plane.operate("audit/list", input);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        const Json& resource = row.at("resource");
        rows.push_back(
            {time_cell(row, "time"),
             text_cell(row, "tenantId"),
             text_cell(row.at("actor"), "identityId"),
             text_cell(row, "method"),
             text_cell(resource, "type") + "/" + text_cell(resource, "id"),
             text_cell(row, "requestId")}
        );
    }
    console.table({"TIME", "TENANT", "ACTOR", "METHOD", "RESOURCE", "REQUEST"}, rows);
    return kExitOk;
}

}  // namespace

void define_audit(const Definition& definition) {
    const Definition command = definition.sub(
        "list",
        "Lists audit rows, newest first",
        "better-compute audit list --tenant acme --since 2h --action 'compute:pools:*'"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<AuditFlags>();
    CLI::App& app = command.app();
    app.add_option("--tenant", flags->tenant, "Only changes in this tenant")->type_name("ID");
    app.add_option("--since", flags->since, "Only from then on: an ISO time, or 2h, 3d")
        ->type_name("TIME");
    app.add_option("--actor", flags->actor, "Only by this identity")->type_name("ID");
    app.add_option(
           "--action",
           flags->action,
           "Only actions (compute:pools:create) or methods (pools/create) that this pattern "
           "matches; * stands for anything"
    )
        ->type_name("PATTERN");
    app.add_option("--request", flags->request, "Only of this request")->type_name("ID");
    command.whole("--limit", flags->limit, {1, 10'000}, "At most so many")->capture_default_str();
    command.run([common, flags](Console& console) { return list(*common, *flags, console); });
    define_audit_seals(definition);
}

}  // namespace compute::cli::commands
