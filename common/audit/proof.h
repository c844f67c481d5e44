// The proof that one row stands in a signed checkpoint. Whoever has it and the public key needs
// neither the database nor this deployment to check it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/checkpoint.h"
#include "core/error.h"
#include "store/database.h"

namespace compute::audit {

// {"version":1,"row":{...},"checkpoint":{...},"index":n,"path":[hex...],"publicKey":base64url}.
// NOT_FOUND when there is no such row; INVALID_STATE when it is in no checkpoint yet, or not as it
// was sealed.
[[nodiscard]] Json prove(store::Database& database, const std::string& row_id);

struct ProofVerdict {
    std::string row;
    std::string tenant_id;
    std::int64_t checkpoint = 0;
    std::string checkpoint_hash;
    EpochMs sealed_at = 0;
    std::string public_key;           // the one the signature was judged with
    std::vector<std::string> faults;  // empty: the proof holds
    [[nodiscard]] bool is_ok() const noexcept { return faults.empty(); }
};

// Judges a proof with the key it brings, or with `public_key` (base64url) when given: only then it
// says who signed. INVALID_INPUT naming the member when it is no proof at all.
[[nodiscard]] ProofVerdict judge_proof(
    const Json& proof, const std::optional<std::string>& public_key
);

}  // namespace compute::audit
