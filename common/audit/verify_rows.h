// The rows of one seal beside the leaves that were stored for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/checkpoint.h"
#include "audit/verify.h"

namespace compute::audit {

// Says up to where rows are gone on purpose, judged anew whenever it has moved. kLowest: nowhere.
using JudgeMark = std::function<Position(const SealState&)>;

// Compares the rows of one seal, of all tenants or of one, and adds what it finds to `into`.
// `checkpoints` are all of the seal, by number, none missing.
void verify_rows(
    store::Database& database,
    const std::vector<Checkpoint>& checkpoints,
    const std::optional<std::string>& tenant_id,
    const JudgeMark& judge_mark,
    Verification& into
);

void add_fault(Verification& into, Fault fault);

}  // namespace compute::audit
