// The embedded engine: a writer thread and a pool of read-only connections over one file in WAL
// mode.
#pragma once

#include <memory>

#include "store/database.h"

namespace compute::store::sqlite {

// `options.url` names an SQLite database. Throws as open_database does.
[[nodiscard]] std::unique_ptr<Database> open_sqlite(const Options& options);

}  // namespace compute::store::sqlite
