#include "daemon/plugins.h"

#include <memory>
#include <set>
#include <string_view>

#include <dlfcn.h>

#include "core/error.h"
#include "method/plugin.h"

namespace compute::daemon {
namespace {

using method::Module;
using method::PluginEntry;

constexpr std::size_t kMaxIdLength = 64;

ComputeError refusal(const std::string& path, const std::string& reason, std::string hint = {}) {
    return invalid_config("plugins: " + path + ": " + reason, std::move(hint));
}

bool is_plugin_id(std::string_view id) {
    if (id.empty() || id.size() > kMaxIdLength || id.front() < 'a' || id.front() > 'z') {
        return false;
    }
    return id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

const PluginEntry& open_plugin(const std::string& path) {
    // A name without a slash would be searched for along the library path: only files that are
    // named are loaded.
    const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw refusal(
            path, dlerror()
        );  // NOLINT(concurrency-mt-unsafe): plugins load on one thread, at start
    }
    void* symbol = dlsym(library, method::kPluginSymbol);
    if (symbol == nullptr) {
        throw refusal(
            path,
            "exports no better_compute_plugin",
            "export it with COMPUTE_PLUGIN of method/plugin.h"
        );
    }
    const auto* entry = reinterpret_cast<const PluginEntry* (*)()>(symbol)();
    if (entry == nullptr || entry->abi != method::kPluginAbi) {
        throw refusal(
            path,
            "was built for plugin ABI " +
                (entry == nullptr ? std::string("unknown") : std::to_string(entry->abi)) +
                ", this binary has " + std::to_string(method::kPluginAbi),
            "build it again with the headers of this release"
        );
    }
    if (std::string_view(entry->build) != method::kPluginBuild) {
        throw refusal(
            path,
            "was built with " + std::string(entry->build) + ", this binary with " +
                method::kPluginBuild,
            "build it again with the compiler of this release"
        );
    }
    return *entry;
}

// What a plugin brings must carry its id, so that two plugins cannot meet in a name.
void check_names(const std::string& path, const Module& module) {
    for (const store::Migration& migration : module.migrations) {
        if (!migration.name.starts_with(module.id + "/")) {
            throw refusal(
                path,
                "migration " + std::string(migration.name) + " does not start with " + module.id +
                    "/"
            );
        }
    }
    for (const outbox::EventFamily& family : module.event_families) {
        if (family.name != module.id && !family.name.starts_with(module.id + ".")) {
            throw refusal(
                path, "event family " + family.name + " does not start with " + module.id
            );
        }
    }
}

}  // namespace

std::vector<Module> load_plugins(const std::vector<std::string>& paths) {
    std::vector<Module> modules;
    std::set<std::string> ids;
    for (const std::string& path : paths) {
        const PluginEntry& entry = open_plugin(path);
        if (entry.id == nullptr || !is_plugin_id(entry.id)) {
            throw refusal(path, "its id must match ^[a-z][a-z0-9-]{0,63}$");
        }
        if (!ids.insert(entry.id).second) {
            throw refusal(path, std::string("a plugin ") + entry.id + " is loaded already");
        }
        const std::unique_ptr<Module> module(entry.make());
        check_names(path, *module);
        modules.push_back(std::move(*module));
    }
    return modules;
}

}  // namespace compute::daemon
