#include "cli/version.h"

namespace compute::cli {

Version version() {
    return {COMPUTE_VERSION, COMPUTE_COMMIT};
}

}  // namespace compute::cli
