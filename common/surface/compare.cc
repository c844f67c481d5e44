#include <algorithm>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "surface/schema_compare.h"
#include "surface/surface.h"

namespace compute::surface {
namespace {

const Json kAbsent;

const Json& field(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? kAbsent : *found;
}

void check_document(const Json& document) {
    const bool is_surface = document.is_object() && field(document, "methods").is_object() &&
                            field(document, "errors").is_object();
    if (!is_surface) {
        throw invalid_input(
            "the recorded surface: must be an object with version, methods and errors"
        );
    }
    if (field(document, "version") != kSurfaceVersion) {
        throw invalid_input(
            "the recorded surface: version must be " + std::to_string(kSurfaceVersion)
        );
    }
    for (const auto& [path, method] : document.at("methods").items()) {
        if (!method.is_object() || !field(method, "status").is_string() ||
            !field(method, "alternatives").is_array()) {
            throw invalid_input("the recorded surface: method " + path + " is incomplete");
        }
    }
}

class MethodComparer {
public:
    MethodComparer(std::string path, Comparison& out)
        : path_(std::move(path)), at_("/methods/" + pointer_token(path_)), out_(out) {}

    void removed(const Json& was) {
        if (was.at("status") == "planned") {
            addition("planned-removed", "", "the planned method is no longer planned");
        } else {
            breaking("method-removed", "", "the method is gone, or its route has changed");
        }
    }
    void added(const Json& is) {
        addition("method-added", "", "a new " + is.at("status").get<std::string>() + " method");
    }

    void changed(const Json& was, const Json& is) {
        if (was.at("status") == "planned") {
            if (is.at("status") == "served") {
                addition("method-served", "/status", "the planned method is served now");
            } else if (was != is) {
                addition("planned-changed", "", "a planned method may change freely");
            }
            return;
        }
        if (is.at("status") == "planned") {
            breaking("method-removed", "/status", "the method is no longer served");
            return;
        }
        same("kind-changed", "kind", was, is);
        same("action-changed", "action", was, is);
        same("resource-changed", "resource", was, is);
        same("list-changed", "list", was, is);
        alternatives(was.at("alternatives"), is.at("alternatives"));
        if (field(was, "phase") != field(is, "phase")) {
            addition("phase-changed", "/phase", was_is(field(was, "phase"), field(is, "phase")));
        }
        input(field(was, "input"), field(is, "input"));
    }

private:
    void breaking(const char* rule, const std::string& pointer, std::string message) {
        out_.breaking.push_back({rule, path_, at_ + pointer, std::move(message)});
    }
    void addition(const char* rule, const std::string& pointer, std::string message) {
        out_.additions.push_back({rule, path_, at_ + pointer, std::move(message)});
    }
    static std::string was_is(const Json& was, const Json& is) {
        return "was " + dump_json(was) + ", is " + dump_json(is);
    }

    void same(const char* rule, const char* name, const Json& was, const Json& is) {
        if (field(was, name) != field(is, name)) {
            breaking(rule, std::string("/") + name, was_is(field(was, name), field(is, name)));
        }
    }
    void alternatives(const Json& was, const Json& is) {
        const auto has = [](const Json& list, const Json& item) {
            return std::find(list.begin(), list.end(), item) != list.end();
        };
        for (const Json& item : was) {
            if (!has(is, item)) {
                breaking(
                    "alternatives-changed",
                    "/alternatives",
                    "no longer decided on " + dump_json(item)
                );
            }
        }
        for (const Json& item : is) {
            if (!has(was, item)) {
                addition(
                    "alternative-added", "/alternatives", "may be decided on " + dump_json(item)
                );
            }
        }
    }
    void input(const Json& was, const Json& is) {
        if (was.is_null() != is.is_null()) {
            breaking(
                "schema-lost",
                "/input",
                was.is_null() ? "now has a schema, what it took before is unknown"
                              : "no longer has a schema"
            );
        } else if (!was.is_null()) {
            compare_schemas(was, is, path_, at_ + "/input", out_);
        }
    }

    std::string path_;
    std::string at_;
    Comparison& out_;
};

void compare_errors(const Json& was, const Json& is, Comparison& out) {
    for (const auto& [code, status] : was.items()) {
        const std::string pointer = "/errors/" + pointer_token(code);
        if (!is.contains(code)) {
            out.breaking.push_back(
                {"error-removed", "", pointer, "the error code " + code + " is gone"}
            );
        } else if (is.at(code) != status) {
            out.breaking.push_back(
                {"error-status-changed",
                 "",
                 pointer,
                 "was " + dump_json(status) + ", is " + dump_json(is.at(code))}
            );
        }
    }
    for (const auto& [code, status] : is.items()) {
        if (!was.contains(code)) {
            out.additions.push_back(
                {"error-added",
                 "",
                 "/errors/" + pointer_token(code),
                 "a new error code with status " + dump_json(status)}
            );
        }
    }
}

void sort_changes(std::vector<Change>& changes) {
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return std::tie(a.pointer, a.rule, a.message, a.method) <
               std::tie(b.pointer, b.rule, b.message, b.method);
    });
    changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
}

Json changes_json(const std::vector<Change>& changes) {
    Json list = Json::array();
    for (const Change& change : changes) {
        list.push_back(Json{
            {"rule", change.rule},
            {"method", change.method},
            {"pointer", change.pointer},
            {"message", change.message}});
    }
    return list;
}

// One block per method, so that a reader sees all that happened to it at once.
void append_changes(std::string& text, const char* sign, const std::vector<Change>& changes) {
    std::string last = "\n";
    for (const Change& change : changes) {
        if (change.method != last) {
            text +=
                "  " + (change.method.empty() ? std::string("error codes") : change.method) + "\n";
            last = change.method;
        }
        const std::string prefix =
            change.method.empty() ? std::string() : "/methods/" + pointer_token(change.method);
        std::string place = change.pointer.substr(std::min(prefix.size(), change.pointer.size()));
        text += std::string("    ") + sign + " " + change.rule +
                (place.empty() ? "" : " " + place) + ": " + change.message + "\n";
    }
}

}  // namespace

Comparison compare(const Json& recorded, const Json& current) {
    check_document(recorded);
    check_document(current);
    Comparison out;
    const Json& was = recorded.at("methods");
    const Json& is = current.at("methods");
    for (const auto& [path, method] : was.items()) {
        MethodComparer comparer(path, out);
        const auto now = is.find(path);
        if (now == is.end()) {
            comparer.removed(method);
        } else {
            comparer.changed(method, *now);
        }
    }
    for (const auto& [path, method] : is.items()) {
        if (!was.contains(path)) {
            MethodComparer(path, out).added(method);
        }
    }
    compare_errors(recorded.at("errors"), current.at("errors"), out);
    sort_changes(out.breaking);
    sort_changes(out.additions);
    return out;
}

Json comparison_json(const Comparison& comparison) {
    return Json{
        {"ok", comparison.is_ok()},
        {"breaking", changes_json(comparison.breaking)},
        {"additions", changes_json(comparison.additions)}};
}

std::string comparison_text(const Comparison& comparison) {
    std::string text;
    if (!comparison.breaking.empty()) {
        text += "breaking (" + std::to_string(comparison.breaking.size()) + ")\n";
        append_changes(text, "!", comparison.breaking);
    }
    if (!comparison.additions.empty()) {
        text +=
            "additions (" + std::to_string(comparison.additions.size()) + "), not recorded yet\n";
        append_changes(text, "+", comparison.additions);
    }
    return text;
}

std::string record_surface(
    const std::optional<Json>& recorded, const Json& current, BreakingChanges breaking
) {
    if (recorded && breaking == BreakingChanges::Refuse) {
        const Comparison comparison = compare(*recorded, current);
        if (!comparison.is_ok()) {
            throw ComputeError(
                ErrorCode::InvalidState,
                "the surface: has " + std::to_string(comparison.breaking.size()) +
                    " breaking changes against the recorded one",
                ErrorExtra{
                    .details = std::make_shared<const Json>(comparison_json(comparison)),
                    .log_detail = {},
                    .hint = "undo them, or record them with --allow-breaking"}
            );
        }
    }
    return surface_text(current);
}

}  // namespace compute::surface
