// PostgreSQL: a pool of connections, listeners and a notifier.
#pragma once

#include <memory>

#include "store/database.h"

namespace compute::store::postgres {

// `options.url` names a PostgreSQL database. Throws as open_database does.
[[nodiscard]] std::unique_ptr<Database> open_postgres(const Options& options);

}  // namespace compute::store::postgres
