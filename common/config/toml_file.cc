#include "config/toml_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "config/keys.h"
#include "config/suggest.h"

namespace compute::config {

namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw invalid_config(
            path + ": cannot be read", "name another file with --config or BETTER_COMPUTE_CONFIG"
        );
    }
    std::string text(kMaxFileBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    // A folder opens like a file and fails at the first read.
    if (file.bad() || (file.fail() && !file.eof())) {
        throw invalid_config(
            path + ": cannot be read", "name another file with --config or BETTER_COMPUTE_CONFIG"
        );
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxFileBytes) {
        throw invalid_config(path + ": is larger than 1 MiB");
    }
    return text;
}

bool is_known_table(const std::string& name) {
    return std::any_of(keys().begin(), keys().end(), [&](const Key& key) {
        return key.name.starts_with(name + ".");
    });
}

class Reader {
public:
    explicit Reader(const std::string& path) : path_(path) {}

    void read(const toml::table& table, const std::string& prefix) {
        for (const auto& [name, node] : table) {
            read_member(prefix + std::string(name.str()), name.source().begin.line, node);
        }
    }
    std::vector<Setting> take() {
        // The library keeps tables sorted by name; people think in lines.
        std::stable_sort(settings_.begin(), settings_.end(), [](const Found& a, const Found& b) {
            return a.line < b.line;
        });
        std::vector<Setting> out;
        for (Found& found : settings_) {
            out.push_back(std::move(found.setting));
        }
        return out;
    }

private:
    struct Found {
        std::uint32_t line;
        Setting setting;
    };

    [[nodiscard]] std::string at(std::uint32_t line) const {
        return path_ + ":" + std::to_string(line);
    }

    void read_member(const std::string& key, std::uint32_t line, const toml::node& node) {
        const bool is_table = node.is_table();
        if (is_table && is_known_table(key)) {
            read(*node.as_table(), key + ".");
            return;
        }
        if (find_key(key) == nullptr) {
            refuse_unknown(key, line);
        }
        settings_.push_back(
            {line, {key, at(line), std::make_shared<const Json>(to_json(node, key, line))}}
        );
    }

    [[noreturn]] void refuse_unknown(const std::string& key, std::uint32_t line) const {
        if (is_known_table(key)) {
            throw invalid_config(at(line) + ": " + key + ": must be a table");
        }
        std::vector<std::string> names;
        for (const Key& known : keys()) {
            names.push_back(known.name);
        }
        const auto nearest = find_nearest(key, names);
        throw invalid_config(
            at(line) + ": unknown key " + key,
            nearest ? "did you mean " + *nearest + "?" : "better-compute.toml(5) lists the keys"
        );
    }

    [[nodiscard]] Json to_json(const toml::node& node, const std::string& key, std::uint32_t line)
        const {
        if (const auto* boolean = node.as_boolean()) {
            return boolean->get();
        }
        if (const auto* integer = node.as_integer()) {
            return integer->get();
        }
        if (const auto* number = node.as_floating_point()) {
            return number->get();
        }
        if (const auto* string = node.as_string()) {
            return string->get();
        }
        if (const auto* array = node.as_array()) {
            Json list = Json::array();
            for (const toml::node& item : *array) {
                list.push_back(to_json(item, key, line));
            }
            return list;
        }
        if (const auto* table = node.as_table()) {
            Json object = Json::object();
            for (const auto& [name, member] : *table) {
                object[std::string(name.str())] = to_json(member, key, line);
            }
            return object;
        }
        throw invalid_config(at(line) + ": " + key + ": dates and times have no meaning here");
    }

    const std::string& path_;
    std::vector<Found> settings_;
};

}  // namespace

std::vector<Setting> read_toml_file(const std::string& path) {
    const std::string text = read_file(path);
    try {
        const toml::table table = toml::parse(text, path);
        Reader reader(path);
        reader.read(table, "");
        return reader.take();
    } catch (const toml::parse_error& error) {
        // Translated here at once. The description quotes at most a character of the file, never a
        // value.
        throw invalid_config(
            path + ":" + std::to_string(error.source().begin.line) +
            ": no valid TOML: " + std::string(error.description())
        );
    }
}

}  // namespace compute::config
