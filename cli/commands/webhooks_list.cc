// `webhooks list` and `webhooks deliveries`: what exists, and what happened to it.
#include <nlohmann/json.hpp>

#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/target.h"

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

int list(const CommonOptions& common, const ListFlags& flags, Console& console) {
    common.apply(console);
    Target target(common, flags.url);
    const Json answer = target.call("webhooks/list", {{"tenantId", flags.tenant}});
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        rows.push_back(
            {text(row, "id"),
             row.at("active").get<bool>() ? "active" : "paused",
             text(row, "url"),
             joined(row.at("events")),
             time_text(row, "createdAt")}
        );
    }
    console.table({"ID", "STATE", "URL", "EVENTS", "CREATED"}, rows);
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
    Target target(common, flags.url);
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
        "list", "Lists the webhooks of a tenant", "better-compute webhooks list --tenant acme"
    );
    const auto list_common = add_common(list_command);
    const auto list_flags = std::make_shared<ListFlags>();
    list_command.app()
        .add_option("--tenant", list_flags->tenant, "Whose webhooks")
        ->required()
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
    app.add_option("--limit", flags->limit, "At most so many")
        ->check(CLI::Range(1, 200))
        ->capture_default_str();
    app.add_option("--cursor", flags->cursor, "Goes on behind an earlier answer")
        ->type_name("CURSOR");
    app.add_option("--url", flags->url, "Asks this server instead of the database")
        ->type_name("URL");
    command.run([common, flags](Console& console) { return deliveries(*common, *flags, console); });
}

}  // namespace compute::cli::commands
