#include "daemon/modules.h"

#include <iterator>
#include <utility>

#include "daemon/plugins.h"
#include "modules/capacity/capacity.h"
#include "modules/events/events.h"
#include "modules/fleet/fleet.h"
#include "modules/iam/audit_module.h"

namespace compute::daemon {

std::vector<method::Module> built_in_modules(const config::Config& config) {
    std::vector<method::Module> modules;
    modules.push_back(iam_methods::audit_module());
    modules.push_back(events::events_module(config));
    modules.push_back(capacity::capacity_module());
    modules.push_back(fleet::fleet_module());
    return modules;
}

std::vector<method::Module> all_modules(const config::Config& config) {
    std::vector<method::Module> modules = built_in_modules(config);
    std::vector<method::Module> plugins = load_plugins(config.plugins);
    std::move(plugins.begin(), plugins.end(), std::back_inserter(modules));
    return modules;
}

std::vector<store::Migration> migrations_of(const std::vector<method::Module>& modules) {
    std::vector<store::Migration> migrations = store::built_in_migrations();
    for (const method::Module& module : modules) {
        migrations.insert(migrations.end(), module.migrations.begin(), module.migrations.end());
    }
    return migrations;
}

outbox::EventCatalog catalog_of(
    const std::vector<method::Module>& modules, const config::Config& config
) {
    std::vector<outbox::EventFamily> families;
    for (const method::Module& module : modules) {
        families.insert(families.end(), module.event_families.begin(), module.event_families.end());
    }
    constexpr std::string_view kAnyOfFamily = ".*";
    for (const config::ExtraEvent& extra : config.events.extra_events) {
        std::string name = extra.type;
        if (name.ends_with(kAnyOfFamily)) {
            name.resize(name.size() - kAnyOfFamily.size());
        }
        families.push_back({std::move(name), extra.subject, extra.module, extra.description, {}});
    }
    return outbox::EventCatalog(std::move(families));
}

}  // namespace compute::daemon
