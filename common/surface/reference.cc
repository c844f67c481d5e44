// The reference pages: Markdown, made from the registry, the error table and the event catalog.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "surface/surface.h"
#include "surface/words.h"

namespace compute::surface {
namespace {

constexpr const char* kNotice =
    "<!-- Made by `better-compute generate reference`; do not edit. -->\n\n";

std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|') {
            out += "\\|";
        } else {
            out += c == '\n' ? ' ' : c;
        }
    }
    return out;
}

std::string code(std::string_view text) {
    return "`" + cell(text) + "`";
}

std::string dotted(std::string path) {
    std::replace(path.begin(), path.end(), '/', '.');
    return path;
}

std::string type_text(const Json& schema) {
    if (const auto any = schema.find("anyOf"); any != schema.end()) {
        std::string text;
        for (const Json& alternative : *any) {
            text += (text.empty() ? "" : " or ") + type_text(alternative);
        }
        return text;
    }
    const auto type = schema.find("type");
    if (type == schema.end()) {
        return "any";
    }
    std::string text;
    for (const Json& name : type->is_array() ? *type : Json::array({*type})) {
        text += (text.empty() ? "" : " or ") + name.get<std::string>();
    }
    return text;
}

std::string bounds_text(const Json& schema) {
    static constexpr std::pair<const char*, const char*> kWords[] = {
        {"enum", "one of"},
        {"const", "is"},
        {"minimum", "at least"},
        {"maximum", "at most"},
        {"minLength", "characters, at least"},
        {"maxLength", "characters, at most"},
        {"pattern", "matches"},
        {"minItems", "items, at least"},
        {"maxItems", "items, at most"},
        {"maxProperties", "entries, at most"}};
    std::string text;
    for (const auto& [keyword, words] : kWords) {
        const auto value = schema.find(keyword);
        if (value == schema.end()) {
            continue;
        }
        const std::string shown =
            value->is_string() ? value->get<std::string>() : dump_json(*value);
        text += (text.empty() ? "" : "; ") + std::string(words) + " " + code(shown);
    }
    return text + (schema.value("uniqueItems", false) ? "; no item twice" : "");
}

// One row per field, nested ones under their path: `nodeGroups[].names`.
void append_fields(std::string& page, const Json& schema, const std::string& prefix) {
    if (const auto items = schema.find("items"); items != schema.end() && items->is_object()) {
        append_fields(page, *items, prefix.substr(0, prefix.size() - 1) + "[].");
    }
    const auto properties = schema.find("properties");
    if (properties == schema.end()) {
        return;
    }
    const Json required = schema.value("required", Json::array());
    for (const auto& [name, field] : properties->items()) {
        const bool is_required =
            std::find(required.begin(), required.end(), name) != required.end();
        page += "| " + code(prefix + name) + " | " + type_text(field) + " | " +
                (is_required ? "yes" : "") + " | " + bounds_text(field) + " | " +
                cell(field.value("description", "")) + " |\n";
        append_fields(page, field, prefix + name + ".");
    }
}

void append_method(std::string& page, const method::RegisteredMethod& method) {
    page += "## " + dotted(method.path) + "\n\n";
    page += "A " + std::string(kind_word(method.definition.kind)) + " method, `POST` " +
            code("/" + method.path) + " below the base path";
    if (!method.definition.action) {
        page += "; it needs no credential.\n\n";
    } else {
        page += ", decided as " + code(*method.definition.action);
        if (method.row) {
            page += " on " + code(method.row->resource_type);
            for (const auto& alternative : method.row->alternatives) {
                page += ", or as " + code(alternative.action) + " on " +
                        code(alternative.resource_type);
            }
        }
        page += ".";
        page += method.definition.poll ? " Takes `wait`.\n\n" : "\n\n";
    }
    if (method.definition.json_schema) {
        page += "| field | type | required | bounds | |\n| --- | --- | --- | --- | --- |\n";
        append_fields(page, *method.definition.json_schema, "");
        page += "\n";
    }
}

std::string errors_page() {
    std::string page = "# Errors\n\n" + std::string(kNotice) +
                       "A call that fails answers `{error: {code, message, retryAfterMs?, "
                       "details?}}` with the status of its code. This is every code.\n\n"
                       "| code | status | retry as it is | |\n| --- | --- | --- | --- |\n";
    for (const ErrorInfo& info : error_table()) {
        page += "| " + code(info.name) + " | " + std::to_string(info.http_status) + " | " +
                (info.is_retryable ? "yes" : "") + " | " + cell(info.meaning) + " |\n";
    }
    return page;
}

std::string events_page(std::vector<outbox::EventFamily> families) {
    std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) {
        return a.name < b.name;
    });
    std::string page = "# Events\n\n" + std::string(kNotice) +
                       "A webhook's patterns are checked against these families: `*` matches all, "
                       "`pool.*` a family, `pool.created` one type.\n\n"
                       "| family | subject | module | |\n| --- | --- | --- | --- |\n";
    for (const outbox::EventFamily& family : families) {
        page += "| " + code(family.name + ".*") + " | " + code(family.subject) + " | " +
                cell(family.module) + " | " + cell(family.description) + " |\n";
    }
    for (const outbox::EventFamily& family : families) {
        if (family.types.empty()) {
            continue;
        }
        page += "\n## " + family.name + "\n\n";
        for (const std::string& type : family.types) {
            page += "- " + code(type) + "\n";
        }
    }
    return page;
}

std::string rules_page() {
    std::string page = "# What breaks the API surface\n\n" + std::string(kNotice) +
                       "`better-compute api:surface --check` refuses these; everything else it "
                       "reports is an addition.\n\n| rule | what happened |\n| --- | --- |\n";
    for (const Rule& rule : all_rules()) {
        page += "| " + code(rule.id) + " | " + cell(rule.meaning) + " |\n";
    }
    return page;
}

std::string methods_page(const method::Registry& registry) {
    std::string page = "# Methods\n\n" + std::string(kNotice) +
                       "| method | kind | action | resource |\n| --- | --- | --- | --- |\n";
    for (const auto& [path, method] : registry.methods()) {
        const std::string group = path.substr(0, path.rfind('/'));
        std::string file = group;
        std::replace(file.begin(), file.end(), '/', '-');
        std::string anchor = dotted(path);
        std::erase(anchor, '.');
        std::transform(anchor.begin(), anchor.end(), anchor.begin(), [](unsigned char c) {
            return static_cast<char>(std::tolower(c));
        });
        page += "| [" + dotted(path) + "](methods-" + file + ".md#" + anchor + ") | " +
                std::string(kind_word(method.definition.kind)) + " | " +
                (method.definition.action ? code(*method.definition.action) : "") + " | " +
                (method.row ? code(method.row->resource_type) : "") + " |\n";
    }
    std::string planned;
    for (const method::PlannedMethod& method : registry.planned()) {
        if (registry.find(method.path) == nullptr) {
            planned += "| " + dotted(method.path) + " | " + std::string(kind_word(method.kind)) +
                       " | " + code(method.row.action) + " | " + code(method.row.resource_type) +
                       " |\n";
        }
    }
    if (!planned.empty()) {
        page +=
            "\n## Planned\n\nNamed, so that policies can speak of them, and not served yet; they "
            "may still change.\n\n"
            "| method | kind | action | resource |\n| --- | --- | --- | --- |\n" +
            planned;
    }
    return page;
}

}  // namespace

std::map<std::string, std::string> reference_files(
    const method::Registry& registry,
    const std::vector<outbox::EventFamily>& families,
    const Product& product
) {
    std::map<std::string, std::string> files;
    for (const auto& [path, method] : registry.methods()) {
        const std::string group = path.substr(0, path.rfind('/'));
        std::string file = group;
        std::replace(file.begin(), file.end(), '/', '-');
        std::string& page = files["methods-" + file + ".md"];
        if (page.empty()) {
            page = "# " + dotted(group) + "\n\n" + kNotice;
        }
        append_method(page, method);
    }
    files["methods.md"] = methods_page(registry);
    files["errors.md"] = errors_page();
    files["events.md"] = events_page(families);
    files["surface-rules.md"] = rules_page();
    files["openapi.json"] = surface_text(openapi_document(registry, product));
    files["tools.json"] = surface_text(tool_schemas(registry));
    return files;
}

}  // namespace compute::surface
