#include "cli/plane.h"

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "cli/storage.h"
#include "config/deployment_secret.h"
#include "core/ids.h"
#include "crypto/crypto.h"
#include "daemon/modules.h"
#include "modules/events/operator/methods.h"
#include "modules/iam/iam_module.h"
#include "outbox/outbox.h"

namespace compute::cli {

Plane::Plane(config::Config config)
    : log_(make_stderr_log(LogLevel::Error, LogFormat::Text)),
      session_(iam::operator_session(iam::operating_system_user(), config.iam.root_tenant)) {
    require_database(config);
    daemon::ComputeOptions options;
    options.log = log_.get();
    // A command makes one call after the other; a pool of the daemon's size would only cost
    // connections.
    config.database.pool_size = 2;
    compute_ = std::make_unique<daemon::Compute>(with_secret(std::move(config)), options);
    registry_.add(iam_methods::operator_module());
    registry_.add(events::operator_module());
    envelope_ = std::make_unique<method::Envelope>(registry_, compute_->runtime());
}

method::Call Plane::make_call(const std::string& path, const Json& input) const {
    method::Call call;
    call.path = path;
    call.input = input;
    call.request_id = new_id("cli_", compute_->runtime().clock, compute_->runtime().rng);
    // A command may be the first to write after the data came into another cluster: what it adds
    // must come behind all that is read and sealed.
    const method::RegisteredMethod* known = compute_->registry().find(path);
    known = known != nullptr ? known : registry_.find(path);
    if (known != nullptr && known->definition.kind == method::Kind::Mutation) {
        outbox::adopt_cluster(compute_->database());
    }
    return call;
}

Json Plane::call_as_bearer(
    const std::string& path, const Json& input, const crypto::Secret& token
) {
    method::Call call = make_call(path, input);
    call.credential = token;
    return compute_->call(std::move(call));
}

Json Plane::call_as_operator(const std::string& path, const Json& input) {
    return compute_->call_as(session_, port_, make_call(path, input));
}

Json Plane::operate(const std::string& path, const Json& input) {
    if (config().iam.mode != "local" && path.starts_with("iam/")) {
        throw ComputeError(
            ErrorCode::Unsupported,
            "iam: this deployment uses a remote IAM",
            ErrorExtra{nullptr, "", "use the tools of the system at iam.better_iam.url"}
        );
    }
    return envelope_->run_as(session_, port_, make_call(path, input));
}

crypto::Secret bearer_token(const config::Config& config) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): commands read it before they start a thread
    if (const char* token = std::getenv("BETTER_COMPUTE_TOKEN");
        token != nullptr && *token != '\0') {
        return crypto::Secret(token);
    }
    if (const auto file = config::find_root_token_file(config)) {
        if (auto token = config::find_secret_in_file(*file)) {
            return std::move(*token);
        }
    }
    throw ComputeError(
        ErrorCode::Unauthenticated,
        "there is no token to call with",
        ErrorExtra{
            nullptr, "", "set BETTER_COMPUTE_TOKEN; better-compute iam tokens create makes one"}
    );
}

std::vector<method::Module> all_modules(const config::Config& config) {
    return daemon::all_modules(config);
}

config::Config with_secret(config::Config config) {
    config::resolve_secret(config, config::SecretNeed::Optional, crypto::system_rng());
    return config;
}

}  // namespace compute::cli
