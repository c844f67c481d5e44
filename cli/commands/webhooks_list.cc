// `webhooks list` and `webhooks deliveries`: what exists, and what happened to it.
#include <nlohmann/json.hpp>

#include "cli/cells.h"
#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/storage.h"
#include "cli/target.h"
#include "modules/events/operator/inspect.h"

namespace compute::cli::commands {

namespace {

struct ListFlags {
    std::string tenant;
    std::string webhook;
    std::string state;
    std::string url;
    std::string cursor;
    int limit = 50;
};

// On a database straight from it, across tenants if need be, with what waits and what is dead; a
// server tells of one tenant and without the counts.
Json webhooks_of(const CommonOptions& common, const ListFlags& flags, Console& console) {
    if (!flags.url.empty()) {
        if (flags.tenant.empty()) {
            throw UsageError("--tenant: is needed with --url");
        }
        return Target(common, flags.url, console)
            .call("webhooks/list", {{"tenantId", flags.tenant}});
    }
    const auto database = open_database(common.load(), Access::ReadOnly);
    const auto tenant = flags.tenant.empty() ? std::nullopt : std::optional(TenantId(flags.tenant));
    return {{"items", events::list_webhooks(*database, tenant, SystemClock().now_ms())}};
}

int list(const CommonOptions& common, const ListFlags& flags, Console& console) {
    common.apply(console);
    const Json answer = webhooks_of(common, flags, console);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        rows.push_back(
            {text_cell(row, "tenantId"),
             text_cell(row, "id"),
             row.at("active").get<bool>() ? "active" : "paused",
             text_cell(row, "pending"),
             text_cell(row, "dead"),
             list_cell(row, "events"),
             text_cell(row, "url")}
        );
    }
    console.table({"TENANT", "ID", "STATE", "PENDING", "DEAD", "EVENTS", "URL"}, rows);
    return kExitOk;
}

// Of one tenant through the method, as the tenant would see them; without a tenant straight from
// the database, across all of them.
Json deliveries_of(const CommonOptions& common, const ListFlags& flags, Console& console) {
    const bool is_across_tenants = flags.tenant.empty();
    if (is_across_tenants && !flags.url.empty()) {
        throw UsageError("--tenant: is needed with --url");
    }
    if (is_across_tenants) {
        const auto database = open_database(common.load(), Access::ReadOnly);
        return events::list_deliveries(
            *database, {flags.webhook, events::find_state(flags.state), flags.cursor, flags.limit}
        );
    }
    Json input = {{"tenantId", flags.tenant}, {"limit", flags.limit}};
    const std::pair<const char*, const std::string*> texts[] = {
        {"webhookId", &flags.webhook}, {"state", &flags.state}, {"cursor", &flags.cursor}};
    for (const auto& [name, value] : texts) {
        if (!value->empty()) {
            input[name] = *value;
        }
    }
    return Target(common, flags.url, console).call("webhooks/deliveries", input);
}

int deliveries(const CommonOptions& common, const ListFlags& flags, Console& console) {
    common.apply(console);
    const Json answer = deliveries_of(common, flags, console);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        rows.push_back(
            {text_cell(row, "tenantId"),
             text_cell(row, "id"),
             text_cell(row, "state"),
             text_cell(row, "attempts"),
             text_cell(row, "eventType"),
             time_cell(row, "createdAt"),
             time_cell(row, "nextAttemptAt"),
             text_cell(row, "lastStatus"),
             text_cell(row, "lastError")}
        );
    }
    console.table(
        {"TENANT", "ID", "STATE", "ATTEMPTS", "EVENT", "QUEUED", "NEXT", "STATUS", "ERROR"}, rows
    );
    if (answer.contains("nextCursor")) {
        console.note("there are more: --cursor " + answer.at("nextCursor").get<std::string>());
    }
    return kExitOk;
}

}  // namespace

void define_webhooks_list(const Definition& webhooks) {
    const Definition list_command = webhooks.sub(
        "list",
        "Lists webhooks and how many of their deliveries wait or are dead",
        "better-compute webhooks list\nbetter-compute webhooks list --tenant acme --json"
    );
    const auto list_common = add_common(list_command);
    const auto list_flags = std::make_shared<ListFlags>();
    list_command.app()
        .add_option("--tenant", list_flags->tenant, "Only of this tenant")
        ->type_name("ID");
    list_command.app()
        .add_option("--url", list_flags->url, "Asks this server instead of the database")
        ->type_name("URL");
    list_command.run([list_common, list_flags](Console& console) {
        return list(*list_common, *list_flags, console);
    });

    const Definition command = webhooks.sub(
        "deliveries",
        "Lists deliveries, newest first",
        "better-compute webhooks deliveries --state dead\nbetter-compute webhooks deliveries "
        "--tenant acme --limit 200 --json"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<ListFlags>();
    CLI::App& app = command.app();
    app.add_option("--tenant", flags->tenant, "Only of this tenant; needed with --url")
        ->type_name("ID");
    app.add_option("--webhook", flags->webhook, "Only of this webhook")->type_name("ID");
    command.word(
        "--state", flags->state, {"pending", "delivered", "dead", "cancelled"}, "Only in this state"
    );
    command.whole("--limit", flags->limit, {1, 200}, "At most so many")->capture_default_str();
    app.add_option("--cursor", flags->cursor, "Goes on behind an earlier answer")
        ->type_name("CURSOR");
    app.add_option("--url", flags->url, "Asks this server instead of the database")
        ->type_name("URL");
    command.run([common, flags](Console& console) { return deliveries(*common, *flags, console); });
}

}  // namespace compute::cli::commands
