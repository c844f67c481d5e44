#include "store/postgres/settings.h"

#include <algorithm>
#include <map>
#include <memory>

#include <libpq-fe.h>

namespace compute::store::postgres {
namespace {

struct OptionsDeleter {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

// A host that vanished without a word is noticed within half a minute, in the middle of a statement
// too.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"application_name", "better-compute"},
    {"connect_timeout", "5"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "25000"},
};

std::string describe(const std::map<std::string, std::string>& given) {
    const auto value = [&](const char* key) {
        const auto found = given.find(key);
        return found == given.end() ? std::string() : found->second;
    };
    std::string out = "postgresql://";
    if (!value("user").empty()) {
        out += value("user") + "@";
    }
    out += value("host").empty() ? "localhost" : value("host");
    if (!value("port").empty()) {
        out += ":" + value("port");
    }
    return out + "/" + value("dbname");
}

}  // namespace

Settings make_settings(const Options& options) {
    char* message = nullptr;
    const std::unique_ptr<PQconninfoOption, OptionsDeleter> parsed(
        PQconninfoParse(options.url.c_str(), &message)
    );
    if (message != nullptr) {
        PQfreemem(message);  // quotes what it did not understand, which may be a password
    }
    if (!parsed) {
        throw invalid_config(
            "database.url: is not a valid PostgreSQL url",
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, special characters percent-encoded"
        );
    }
    std::map<std::string, std::string> given;
    Settings settings;
    for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
        if (option->val == nullptr) {
            continue;
        }
        settings.parameters.emplace_back(option->keyword, crypto::Secret(option->val));
        given[option->keyword] = std::string_view(option->keyword) == "password" ? "" : option->val;
    }
    for (const auto& [keyword, value] : kDefaults) {
        if (!given.contains(keyword)) {
            settings.parameters.emplace_back(keyword, crypto::Secret(value));
        }
    }
    if (!given.contains("client_encoding")) {
        settings.parameters.emplace_back("client_encoding", crypto::Secret("UTF8"));
    }
    settings.location = describe(given);
    settings.is_prepared = options.prepared;
    settings.is_read_only = options.read_only;
    settings.is_synchronous = options.synchronous == Synchronous::Full;
    settings.busy_timeout = options.busy_timeout;
    return settings;
}

}  // namespace compute::store::postgres
