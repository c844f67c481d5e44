// The last net under the rule that no secret is logged: whatever looks like one of our tokens or signing secrets is masked, wherever a
// caller put it (into a tenant id, a field name, a URL).
#pragma once

#include <string>
#include <string_view>

namespace compute {

// `text` with the tail of every access token (`bct_<kind>_...`) and webhook secret (`whsec_...`) replaced by `***`. Linear.
[[nodiscard]] std::string redact_secrets(std::string_view text);

}  // namespace compute
