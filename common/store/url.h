// Database urls. Inside the store only.
#pragma once

#include <string>
#include <string_view>

namespace compute::store {

// The path of an SQLite url, ":memory:" for the one in memory.
[[nodiscard]] std::string sqlite_path(std::string_view url);

}  // namespace compute::store
