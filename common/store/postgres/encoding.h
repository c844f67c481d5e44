// Parameters to PostgreSQL's text format, results back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "store/value.h"

namespace compute::store::postgres {

// The declared type: integers are bigint, so that `$1 + 1000` is not taken for int4; text and null
// are left to the server (0).
[[nodiscard]] Oid type_of(const Param& param);

// nullopt is NULL.
[[nodiscard]] std::optional<std::string> text_of(const Param& param);

// Integers and booleans become int64, numeric too when whole; other numbers double; everything else
// text.
[[nodiscard]] Rows rows_of(const PGresult* result);

}  // namespace compute::store::postgres
