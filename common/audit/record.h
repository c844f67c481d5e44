// Audit rows as they are sealed: every column, and the bytes that stand for it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "outbox/event.h"
#include "store/database.h"

namespace compute::audit {

// Where a row stands in the order of commits. SQLite: {0, seq}.
using Position = outbox::Position;

// Below every row that there is or could be put in.
inline constexpr Position kLowest{
    std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min()};

// `12.345` back; nullopt for anything that Position::str() does not write.
[[nodiscard]] std::optional<Position> find_position(std::string_view text);

inline constexpr std::size_t kRecordFields = 19;

struct Record {
    Position position;
    // In the order of kRecordNames; times as decimal text.
    std::array<std::optional<std::string>, kRecordFields> fields;

    [[nodiscard]] const std::string& id() const { return text(0); }
    [[nodiscard]] EpochMs time() const;
    [[nodiscard]] const std::string& tenant_id() const { return text(2); }

private:
    [[nodiscard]] const std::string& text(std::size_t field) const;
};

// The rows behind `after`, up to and including `until`, oldest first, at most `limit`; of all
// tenants or of one.
struct Span {
    Position after;
    Position until;
    int limit;
};
[[nodiscard]] std::vector<Record> read_records(
    store::Transaction& tx, const Span& span, const std::optional<std::string>& tenant_id = {}
);
// How many rows lie behind `after`.
[[nodiscard]] std::int64_t count_records_behind(
    store::Transaction& tx, Position after, const std::optional<std::string>& tenant_id
);
[[nodiscard]] std::optional<Record> find_record(store::Transaction& tx, const std::string& id);

// The last place that no row can appear below any more: all up to it may be sealed.
[[nodiscard]] Position last_settled(store::Transaction& tx);

// SHA-256 over position and columns; 32 raw bytes.
[[nodiscard]] std::string digest_of(const Record& record);

// One row in a tree: bound to its id, so that a row that is gone can be named from its leaf alone.
struct Leaf {
    Position position;
    std::int64_t tree = 0;  // which checkpoint of the seal, from 0
    std::string id;
    std::string digest;

    [[nodiscard]] std::string hash() const;
};

// A member for each column, absent ones left out, and `position`. Back: INVALID_INPUT naming what
// is missing, unknown or no text.
[[nodiscard]] Json record_json(const Record& record);
[[nodiscard]] Record record_of_json(const Json& value);

}  // namespace compute::audit
