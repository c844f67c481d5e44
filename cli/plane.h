// A control plane in this process, for commands that call methods on the configured database: as
// the bearer of a token, or as the operating-system user (deployment commands). Both go through the
// envelope.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/error.h"
#include "core/log.h"
#include "crypto/secret.h"
#include "daemon/compute.h"
#include "iam/operator_port.h"

namespace compute::cli {

class Plane {
public:
    // Opens the database, which must be there and migrated. Throws INVALID_CONFIG or STORAGE_BUSY.
    explicit Plane(config::Config config);

    [[nodiscard]] daemon::Compute& compute() { return *compute_; }
    [[nodiscard]] const config::Config& config() { return compute_->config(); }

    // Calls a served method as the bearer of `token`.
    [[nodiscard]] Json call_as_bearer(
        const std::string& path, const Json& input, const crypto::Secret& token
    );
    // Calls a served method as os:<user>.
    [[nodiscard]] Json call_as_operator(const std::string& path, const Json& input);
    // Calls a method of the operator modules (iam/apply, audit/list, redeliveryJobs/create, ...) as
    // os:<user>.
    [[nodiscard]] Json operate(const std::string& path, const Json& input);

    [[nodiscard]] const iam::Session& session() const { return session_; }
    [[nodiscard]] iam::IamPort& port() { return port_; }

private:
    [[nodiscard]] method::Call make_call(const std::string& path, const Json& input) const;

    std::unique_ptr<Log> log_;
    std::unique_ptr<daemon::Compute> compute_;
    iam::OperatorPort port_;
    iam::Session session_;
    method::Registry registry_;  // of the operator modules: never served
    std::unique_ptr<method::Envelope> envelope_;
};

// BETTER_COMPUTE_TOKEN, else the local root token file; UNAUTHENTICATED
// with a hint when there is neither.
[[nodiscard]] crypto::Secret bearer_token(const config::Config& config);

// Every module of this binary under `config`, plugins included.
[[nodiscard]] std::vector<method::Module> all_modules(const config::Config& config);

// The configuration with its deployment secret, when there is one.
[[nodiscard]] config::Config with_secret(config::Config config);

}  // namespace compute::cli
