#include <algorithm>
#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "config/suggest.h"
#include "core/json.h"

namespace compute::cli::commands {

namespace {

struct ApiFlags {
    std::string method;
    std::vector<std::string> words;
    std::string data;
    std::string url;
    std::string query;
    std::string format = "json";
    bool is_list = false;
};

std::string shown(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : dump_json(value);
}

void print_table(const Json& value, Console& console) {
    const Json rows = value.is_object() && value.contains("items") ? value.at("items")
                      : value.is_array()                           ? value
                                                                   : Json::array({value});
    std::vector<std::string> header;
    std::set<std::string> seen;
    for (const Json& row : rows) {
        if (!row.is_object()) {
            continue;
        }
        for (const auto& [name, member] : row.items()) {
            if (seen.insert(name).second) {
                header.push_back(name);
            }
        }
    }
    std::vector<std::vector<std::string>> cells;
    for (const Json& row : rows) {
        std::vector<std::string> line;
        for (const std::string& name : header) {
            line.push_back(
                row.is_object() && row.contains(name) ? printable(shown(row.at(name)), 200) : ""
            );
        }
        cells.push_back(std::move(line));
    }
    console.table(header, cells);
}

void print_answer(const Json& answer, const ApiFlags& flags, bool is_compact, Console& console) {
    if (!flags.query.empty()) {
        for (const Json& part : select(answer, flags.query)) {
            console.line(shown(part));
        }
    } else if (is_compact || flags.format == "compact") {
        console.json(answer);
    } else if (flags.format == "table") {
        print_table(answer, console);
    } else {
        console.line(answer.dump(2, ' ', false, Json::error_handler_t::replace));
    }
}

const char* kind_name(method::Kind kind) {
    switch (kind) {
        case method::Kind::Read:
            return "read";
        case method::Kind::Mutation:
            return "mutation";
        case method::Kind::Public:
            return "public";
    }
    return "";
}

std::string dotted(std::string path) {
    std::replace(path.begin(), path.end(), '/', '.');
    return path;
}

int list_methods(const config::Config& config, bool is_json, Console& console) {
    Json items = Json::array();
    std::vector<std::vector<std::string>> rows;
    for (const method::Module& module : all_modules(config)) {
        for (const method::MethodEntry& entry : module.methods) {
            const std::string name =
                (module.is_plugin ? "plugins." + module.id + "." : "") + dotted(entry.path());
            items.push_back(
                {{"method", name},
                 {"kind", kind_name(entry.definition.kind)},
                 {"action", entry.definition.action.value_or("")},
                 {"module", module.id}}
            );
            rows.push_back(
                {name, kind_name(entry.definition.kind), entry.definition.action.value_or("-")}
            );
        }
    }
    std::sort(rows.begin(), rows.end());
    if (is_json) {
        console.json({{"items", items}});
    } else {
        console.table({"METHOD", "KIND", "ACTION"}, rows);
    }
    return kExitOk;
}

void refuse_unknown_method(const std::string& name, const config::Config& config) {
    std::vector<std::string> known;
    for (const method::Module& module : all_modules(config)) {
        for (const method::MethodEntry& entry : module.methods) {
            known.push_back(
                (module.is_plugin ? "plugins." + module.id + "." : "") + dotted(entry.path())
            );
        }
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
        const auto nearest = config::find_nearest(name, known);
        throw ComputeError(
            ErrorCode::NotFound,
            "there is no method " + name,
            ErrorExtra{
                nullptr,
                "",
                nearest ? "did you mean " + *nearest + "?" : "better-compute api --list lists them"}
        );
    }
}

std::string url_of(const ApiFlags& flags) {
    if (!flags.url.empty()) {
        return flags.url;
    }
    const char* url = std::getenv("BETTER_COMPUTE_URL"
    );  // NOLINT(concurrency-mt-unsafe): before any thread starts
    return url == nullptr ? "" : url;
}

int call(const CommonOptions& common, const ApiFlags& flags, Console& console) {
    common.apply(console);
    const config::Config config = common.load();
    if (flags.is_list) {
        return list_methods(config, common.is_json, console);
    }
    if (flags.method.empty()) {
        throw UsageError("api: needs a method", "better-compute api --list lists them");
    }
    const std::string name = dotted(flags.method);
    std::string path = name;
    std::replace(path.begin(), path.end(), '.', '/');
    const Json base = flags.data.empty() ? Json::object() : json_of_argument(flags.data, "--data");
    const Json input = object_of_words(base, flags.words);
    const std::string url = url_of(flags);
    if (!url.empty()) {
        warn_of_plain_http(url, console);
        Client client(url, config, bearer_token(config));
        print_answer(client.call(path, input), flags, common.is_json, console);
        return kExitOk;
    }
    refuse_unknown_method(name, config);
    Plane plane(config);
    print_answer(
        plane.call_as_bearer(path, input, bearer_token(config)), flags, common.is_json, console
    );
    return kExitOk;
}

}  // namespace

void define_api(const Definition& definition) {
    const auto common = add_common(definition);
    const auto flags = std::make_shared<ApiFlags>();
    CLI::App& app = definition.app();
    app.add_option("GROUP.METHOD", flags->method, "The method, for example webhooks.create");
    app.add_option(
        "WORDS",
        flags->words,
        "The input: name=text, name:=json, name:=@file, a.b=text, list[]=text"
    );
    app.add_option(
           "--data",
           flags->data,
           "The input as a JSON object, from @file, or from standard input (-); words are put over "
           "it"
    )
        ->type_name("JSON");
    app.add_option(
           "--url", flags->url, "Calls this server instead of the database; else BETTER_COMPUTE_URL"
    )
        ->type_name("URL");
    app.add_option(
           "--query", flags->query, "Prints this part of the answer (a.b[].c), a string unquoted"
    )
        ->type_name("PATH");
    definition
        .word("--format", flags->format, {"json", "compact", "table"}, "How the answer is printed")
        ->capture_default_str();
    app.add_flag("--list", flags->is_list, "Lists the methods");
    definition.run([common, flags](Console& console) { return call(*common, *flags, console); });
}

}  // namespace compute::cli::commands
