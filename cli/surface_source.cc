#include "cli/surface_source.h"

#include "cli/plane.h"
#include "cli/version.h"
#include "daemon/modules.h"
#include "surface/surface.h"

namespace compute::cli {

method::Registry described_registry(const config::Config& config) {
    method::Registry registry;
    for (const method::Module& module : all_modules(config)) {
        registry.add(module);
    }
    registry.initialize();
    return registry;
}

std::map<std::string, std::string> reference_files() {
    const config::Config config;
    const auto catalog = daemon::catalog_of(all_modules(config), config);
    return surface::reference_files(
        described_registry(config), catalog.families(), {version().number, config.base_path}
    );
}

}  // namespace compute::cli
