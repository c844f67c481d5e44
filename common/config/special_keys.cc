#include <algorithm>

#include "config/checks.h"
#include "config/key_builders.h"

namespace compute::config::build {

namespace {

constexpr std::size_t kMaxBackoffs = 64;
constexpr std::int64_t kMaxBackoffSeconds = 30 * 86400;
constexpr std::size_t kMaxPreviousSecrets = 16;
constexpr std::size_t kMaxSecretBytes = 4096;

Problem check_secret(const Json& value) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxSecretBytes ||
        count_characters(value.get_ref<const std::string&>()) < kMinSecretCharacters) {
        return "must be a string of at least 32 characters";
    }
    return std::nullopt;
}

}  // namespace

Key secret() {
    Key key{
        "secret",
        KeyType::Text,
        "at least 32 characters",
        "The deployment secret, shared by every process: webhook secrets are sealed under it.",
        true,
        {},
        {}};
    key.set = [](Config& config, const Json& value) -> Problem {
        if (auto problem = check_secret(value)) {
            return problem;
        }
        config.secret = crypto::Secret(value.get<std::string>());
        return std::nullopt;
    };
    key.get = [](const Config& config) { return config.secret.empty() ? Json() : Json(kMask); };
    return key;
}

Key previous_secrets() {
    Key key{
        "previous_secrets",
        KeyType::TextList,
        "each at least 32 characters",
        "Former deployment secrets; what is still sealed under one of them can be opened.",
        true,
        {},
        {}};
    key.set = [](Config& config, const Json& value) -> Problem {
        if (!value.is_array() || value.size() > kMaxPreviousSecrets) {
            return "must be a list of at most 16 strings";
        }
        std::vector<crypto::Secret> secrets;
        for (const Json& item : value) {
            if (check_secret(item)) {
                return "each must be a string of at least 32 characters";
            }
            secrets.emplace_back(item.get<std::string>());
        }
        config.previous_secrets = std::move(secrets);
        return std::nullopt;
    };
    key.get = [](const Config& config) {
        return Json(std::vector<std::string>(config.previous_secrets.size(), kMask));
    };
    return key;
}

Key extra_events() {
    Key key{
        "events.extra_events",
        KeyType::Tables,
        "tables of type, subject, module, description; or false",
        "Further event families tenants may subscribe to; false accepts every well-formed pattern.",
        false,
        {},
        {}};
    key.set = [](Config& config, const Json& value) -> Problem {
        if (value == Json(false)) {
            config.events.check_catalog = false;
            config.events.extra_events.clear();
            return std::nullopt;
        }
        if (!value.is_array() || value.size() > 1000) {
            return "must be a list of tables, or false";
        }
        std::vector<ExtraEvent> families;
        std::set<std::string> seen;
        for (const Json& item : value) {
            if (!item.is_object() || !item.contains("type")) {
                return "each must be a table with type, subject, module and description";
            }
            for (const auto& [name, member] : item.items()) {
                if (name != "type" && name != "subject" && name != "module" &&
                    name != "description") {
                    return "unknown member " + name;
                }
                if (!member.is_string() ||
                    !build::is_plain_text(member.get_ref<const std::string&>())) {
                    return name + " must be a string";
                }
            }
            ExtraEvent family{
                item.at("type"),
                item.value("subject", ""),
                item.value("module", ""),
                item.value("description", "")};
            if (!is_event_family(family.type)) {
                return "type must be a family such as acme.widget.*";
            }
            if (!seen.insert(family.type).second) {
                return "type " + family.type + " stands here twice";
            }
            families.push_back(std::move(family));
        }
        config.events.check_catalog = true;
        config.events.extra_events = std::move(families);
        return std::nullopt;
    };
    key.get = [](const Config& config) {
        if (!config.events.check_catalog) {
            return Json(false);
        }
        Json list = Json::array();
        for (const ExtraEvent& family : config.events.extra_events) {
            list.push_back(
                {{"type", family.type},
                 {"subject", family.subject},
                 {"module", family.module},
                 {"description", family.description}}
            );
        }
        return list;
    };
    return key;
}

Key backoff_seconds() {
    Key key{
        "events.delivery.backoff_seconds",
        KeyType::IntegerList,
        "1 to 64 numbers, each 1 to 2592000",
        "Seconds from the end of a failed attempt to the next; the last one repeats.",
        false,
        {},
        {}};
    key.set = [](Config& config, const Json& value) -> Problem {
        const auto is_delay = [](const Json& item) {
            return item.is_number_integer() && item >= 1 && item <= kMaxBackoffSeconds;
        };
        if (!value.is_array() || value.empty() || value.size() > kMaxBackoffs ||
            !std::all_of(value.begin(), value.end(), is_delay)) {
            return "must be a list of 1 to 64 whole numbers, each from 1 to 2592000";
        }
        config.events.delivery.backoff_seconds = value.get<std::vector<std::int64_t>>();
        return std::nullopt;
    };
    key.get = [](const Config& config) { return Json(config.events.delivery.backoff_seconds); };
    return key;
}

Key retention() {
    Key key{
        "events.retention",
        KeyType::Boolean,
        "false",
        "false keeps every delivery for ever.",
        false,
        {},
        {}};
    key.set = [](Config& config, const Json& value) -> Problem {
        if (value != Json(false)) {
            return "must be false, or a table with delivered_days and dead_days";
        }
        config.events.retention = std::nullopt;
        return std::nullopt;
    };
    key.get = [](const Config& config) { return config.events.retention ? Json() : Json(false); };
    return key;
}

Key retention_days(std::string name, std::string meaning, double Retention::*member) {
    return days(
        std::move(name),
        std::move(meaning),
        [member](Config& config, double value) {
            // A later source that names a period takes back an earlier `false`.
            if (!config.events.retention) {
                config.events.retention.emplace();
            }
            (*config.events.retention).*member = value;
        },
        [member](const Config& config) {
            return config.events.retention ? Json((*config.events.retention).*member) : Json();
        }
    );
}

Key plugins() {
    Key key{
        "plugins",
        KeyType::Tables,
        "tables of path",
        "Shared objects loaded as modules.",
        false,
        {},
        {}};
    key.set = [](Config& config, const Json& value) -> Problem {
        constexpr const char* kReason =
            "must be [[plugins]] tables, each with nothing but a path, no path twice";
        if (!value.is_array()) {
            return kReason;
        }
        std::vector<std::string> paths;
        for (const Json& item : value) {
            if (!item.is_object() || item.size() != 1 || !item.contains("path") ||
                !item.at("path").is_string() ||
                item.at("path").get_ref<const std::string&>().empty() ||
                std::find(paths.begin(), paths.end(), item.at("path")) != paths.end()) {
                return kReason;
            }
            paths.push_back(item.at("path"));
        }
        config.plugins = std::move(paths);
        return std::nullopt;
    };
    key.get = [](const Config& config) {
        Json list = Json::array();
        for (const std::string& path : config.plugins) {
            list.push_back({{"path", path}});
        }
        return list;
    };
    return key;
}

}  // namespace compute::config::build
