// Transactions that are open on PostgreSQL. A long one holds events back, bloats the queue and
// slows its claims.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "method/module.h"

namespace compute::doctor {

inline constexpr std::int64_t kLongTransactionMs = 5 * 60'000;

struct OpenTransaction {
    std::int64_t pid = 0;
    std::int64_t age_ms = 0;
    std::string database;
    std::string application;
    std::string state;
};

// The oldest transactions of every database of the cluster that hold a snapshot or have written,
// the oldest first, but for this connection's own: events wait for those of other databases too.
[[nodiscard]] std::vector<OpenTransaction> open_transactions(store::Database& database);

// A finding of core.long-transactions for each that is older than kLongTransactionMs.
[[nodiscard]] std::vector<method::Finding> judge_transactions(
    const std::vector<OpenTransaction>& transactions
);

}  // namespace compute::doctor
