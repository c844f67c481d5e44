#include "cli/storage.h"

#include <filesystem>

#include "config/checks.h"

namespace compute::cli {

void require_database(const config::Config& config) {
    if (!database_exists(config)) {
        throw invalid_config(
            "database.url: there is no database at " +
                *config::find_database_file(config.database.url),
            "run better-compute migrate or better-compute serve, or name another with --database"
        );
    }
}

std::unique_ptr<store::Database> open_database(const config::Config& config, Access access) {
    if (access != Access::Create) {
        require_database(config);
    }
    store::Options options;
    options.url = config.database.url;
    options.synchronous = config.database.synchronous == "normal" ? store::Synchronous::Normal
                                                                  : store::Synchronous::Full;
    // One command, one caller: a second connection covers a helper thread.
    options.pool_size = 2;
    options.prepared = config.database.prepared;
    options.create = access == Access::Create;
    options.read_only = access == Access::ReadOnly;
    return store::open_database(options);
}

bool database_exists(const config::Config& config) {
    const auto file = config::find_database_file(config.database.url);
    std::error_code error;
    return !file || std::filesystem::exists(*file, error);
}

}  // namespace compute::cli
