// Which identity and access management stands behind the port: by `iam.mode`.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "core/clock.h"
#include "core/rng.h"
#include "iam/port.h"
#include "method/module.h"
#include "store/database.h"

namespace compute::daemon {

struct IamChoice {
    std::unique_ptr<iam::IamPort> port;
    std::vector<method::Reconciler>
        reconcilers;  // what it needs done again and again; they refer to `port`
};

// INVALID_CONFIG for an unknown mode or a remote IAM without url or service key.
[[nodiscard]] IamChoice make_iam(
    const config::Config& config, store::Database& database, Clock& clock, Rng& rng
);

}  // namespace compute::daemon
