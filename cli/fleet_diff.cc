#include "cli/fleet_diff.h"

#include <algorithm>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "capacity/name_list.h"
#include "cli/console.h"
#include "core/json.h"

namespace compute::cli {
namespace {

constexpr std::size_t kMaxValue = 120;
constexpr const char* kNodeGroups = "nodeGroups";

enum class Change { Create, Update, Delete };

Change change_of(const Json& call) {
    const std::string path = call.at("path").get<std::string>();
    if (path == "quotas/set") {
        const Json& changes = call.at("changes");
        if (call.at("input").at("limits").empty()) {
            return Change::Delete;
        }
        const bool is_new = std::all_of(changes.begin(), changes.end(), [](const Json& change) {
            return change.at("before").is_null();
        });
        return is_new && call.at("input").at("limits").size() == changes.size() ? Change::Create
                                                                                : Change::Update;
    }
    if (path.ends_with("/create")) {
        return Change::Create;
    }
    return path.ends_with("/update") ? Change::Update : Change::Delete;
}

struct Look {
    const char* sign;
    Style style;
};
Look look_of(Change change) {
    switch (change) {
        case Change::Create:
            return {"+", Style::Green};
        case Change::Update:
            return {"~", Style::Yellow};
        case Change::Delete:
            return {"-", Style::Red};
    }
    return {"", Style::Plain};
}

std::string kind_of(const std::string& path) {
    std::string kind = path.substr(0, path.find('/'));
    if (kind.ends_with('s')) {
        kind.pop_back();
    }
    return kind;
}

std::string value_in_words(const Json& value) {
    if (value.is_null()) {
        return "none";
    }
    const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
    return text.size() <= kMaxValue ? printable(text) : printable(text, kMaxValue) + "...";
}

std::string names_of(const Json& group) {
    return group.is_null() ? std::string() : group.at("names").get<std::string>();
}

std::string group_in_words(const Json& group) {
    std::string words = printable(names_of(group), kMaxValue) + ": " +
                        std::to_string(group.at("gpuCount").get<std::int64_t>()) + " x " +
                        printable(group.at("gpuModel").get<std::string>()) + ", " +
                        std::to_string(group.at("cpuMilli").get<std::int64_t>()) + " cpuMilli, " +
                        std::to_string(group.at("memoryMib").get<std::int64_t>()) + " MiB";
    if (group.contains("fabric")) {
        words += ", fabric " + printable(group.at("fabric").get<std::string>());
    }
    if (group.contains("labels")) {
        words += ", labels " + value_in_words(group.at("labels"));
    }
    return words;
}

// Groups that only one side has, one line each.
void print_groups(const Json& before, const Json& after, Console& console) {
    const auto print_missing = [&](const Json& these, const Json& others, Change change) {
        for (const Json& group : these) {
            if (std::find(others.begin(), others.end(), group) == others.end()) {
                const Look look = look_of(change);
                console.line(
                    "        " +
                    console.styled(look.style, std::string(look.sign) + " " + group_in_words(group))
                );
            }
        }
    };
    const Json from = before.is_array() ? before : Json::array();
    const Json to = after.is_array() ? after : Json::array();
    print_missing(from, to, Change::Delete);
    print_missing(to, from, Change::Create);
}

void print_change(const Json& change, Change kind, Console& console) {
    const std::string field = change.at("field").get<std::string>();
    const Json& before = change.at("before");
    const Json& after = change.at("after");
    const std::string name = "      " + printable(field) + ": ";
    const bool is_groups = field == kNodeGroups;
    const auto words = [&](const Json& value) {
        return is_groups ? groups_in_words(value) : value_in_words(value);
    };
    switch (kind) {
        case Change::Create:
            console.line(name + words(after));
            break;
        case Change::Update:
            console.line(name + words(before) + " -> " + words(after));
            break;
        case Change::Delete:
            console.line(name + words(before));
            break;
    }
    if (is_groups && kind == Change::Update) {
        print_groups(before, after, console);
    }
}

void print_call(const Json& call, Console& console) {
    const Change kind = change_of(call);
    const Look look = look_of(kind);
    const std::string title = std::string(look.sign) + " " +
                              kind_of(call.at("path").get<std::string>()) + " " +
                              printable(call.at("name").get<std::string>());
    console.line("  " + console.styled(look.style, title));
    for (const Json& change : call.at("changes")) {
        if (change.at("field") != "name") {
            print_change(change, kind, console);
        }
    }
}

}  // namespace

std::string groups_in_words(const Json& groups) {
    if (!groups.is_array() || groups.empty()) {
        return "none";
    }
    std::size_t nodes = 0;
    std::size_t gpus = 0;
    for (const Json& group : groups) {
        const std::size_t count = capacity::expand_names(names_of(group), kNodeGroups).size();
        nodes += count;
        gpus += count * group.at("gpuCount").get<std::size_t>();
    }
    const auto counted = [](std::size_t count, const std::string& noun) {
        return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
    };
    return counted(groups.size(), "group") + ", " + counted(nodes, "node") + ", " +
           counted(gpus, "GPU");
}

std::string plan_counts(const Json& plan) {
    std::map<Change, int> counts;
    for (const Json& call : plan.at("calls")) {
        ++counts[change_of(call)];
    }
    std::string words;
    const auto add = [&](std::size_t count, const std::string& what) {
        if (count > 0) {
            words += (words.empty() ? "" : ", ") + std::to_string(count) + " " + what;
        }
    };
    add(static_cast<std::size_t>(counts[Change::Create]), "to create");
    add(static_cast<std::size_t>(counts[Change::Update]), "to change");
    add(static_cast<std::size_t>(counts[Change::Delete]), "to remove");
    add(plan.at("blocked").size(), "blocked");
    return words.empty() ? "nothing to do" : words;
}

void print_plan(const Json& plan, const std::string& tenant, Console& console) {
    console.line("fleet of tenant " + printable(tenant) + ": " + plan_counts(plan));
    for (const Json& call : plan.at("calls")) {
        print_call(call, console);
    }
    for (const Json& item : plan.at("blocked")) {
        console.line(
            "  " + console.styled(
                       Style::Red,
                       "! " + kind_of(item.at("path").get<std::string>()) + " " +
                           printable(item.at("name").get<std::string>()) + ": " +
                           printable(item.at("reason").get<std::string>())
                   )
        );
    }
    console.line("plan hash " + plan.at("planHash").get<std::string>());
}

}  // namespace compute::cli
