// `webhooks list` and `webhooks deliveries`: what exists, and what happened to it.
#include <nlohmann/json.hpp>

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

std::string text(const Json& row, const char* name) {
    if (!row.contains(name)) {
        return "-";
    }
    const Json& value = row.at(name);
    return printable(value.is_string() ? value.get<std::string>() : value.dump(), 200);
}

std::string time_text(const Json& row, const char* name) {
    return row.contains(name) ? iso_time(row.at(name).get<std::int64_t>()) : "-";
}

std::string joined(const Json& words) {
    std::string out;
    for (const Json& word : words) {
        out += (out.empty() ? "" : ",") + word.get<std::string>();
    }
    return printable(out, 200);
}

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
            {text(row, "tenantId"),
             text(row, "id"),
             row.at("active").get<bool>() ? "active" : "paused",
             text(row, "pending"),
             text(row, "dead"),
             joined(row.at("events")),
             text(row, "url")}
        );
    }
    console.table({"TENANT", "ID", "STATE", "PENDING", "DEAD", "EVENTS", "URL"}, rows);
    return kExitOk;
}

int deliveries(const CommonOptions& common, const ListFlags& flags, Console& console) {
    common.apply(console);
    Json input = {{"tenantId", flags.tenant}, {"limit", flags.limit}};
    const std::pair<const char*, const std::string*> texts[] = {
        {"webhookId", &flags.webhook}, {"state", &flags.state}, {"cursor", &flags.cursor}};
    for (const auto& [name, value] : texts) {
        if (!value->empty()) {
            input[name] = *value;
        }
    }
    Target target(common, flags.url, console);
    const Json answer = target.call("webhooks/deliveries", input);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        rows.push_back(
            {text(row, "id"),
             text(row, "state"),
             text(row, "attempts"),
             text(row, "eventType"),
             time_text(row, "createdAt"),
             time_text(row, "nextAttemptAt"),
             text(row, "lastStatus"),
             text(row, "lastError")}
        );
    }
    console.table({"ID", "STATE", "ATTEMPTS", "EVENT", "QUEUED", "NEXT", "STATUS", "ERROR"}, rows);
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
        "better-compute webhooks deliveries --tenant acme --state dead"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<ListFlags>();
    CLI::App& app = command.app();
    app.add_option("--tenant", flags->tenant, "Whose deliveries")->required()->type_name("ID");
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
