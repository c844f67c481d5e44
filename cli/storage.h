// Opening the configured database for commands that read it directly.
#pragma once

#include <memory>

#include "config/config.h"
#include "store/database.h"

namespace compute::cli {

enum class Access {
    ReadOnly,  // changes nothing, makes nothing
    Write,     // an embedded database must be there
    Create,    // makes an embedded database
};

// Throws INVALID_CONFIG or STORAGE_BUSY.
[[nodiscard]] std::unique_ptr<store::Database> open_database(
    const config::Config& config, Access access
);

// INVALID_CONFIG with what to do when database_exists() is false.
void require_database(const config::Config& config);

// False when the database is an embedded one whose file is not there yet.
[[nodiscard]] bool database_exists(const config::Config& config);

}  // namespace compute::cli
