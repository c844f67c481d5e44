// What this binary is.
#pragma once

#include <string>

namespace compute::cli {

struct Version {
    std::string number;  // "0.1.0"
    std::string commit;  // of the checkout it was configured from; "unknown" outside one
};

[[nodiscard]] Version version();

}  // namespace compute::cli
