#include "daemon/iam_port.h"

#include <chrono>
#include <optional>
#include <utility>

#include "iam/better_iam/better_iam.h"
#include "iam/local/local_iam.h"

namespace compute::daemon {
namespace {

using std::chrono::milliseconds;

constexpr int kMirrorRows = 100;  // in one run
constexpr milliseconds kMirrorInterval{1000};

IamChoice local(const config::Config& config, store::Database& database, Clock& clock, Rng& rng) {
    return {
        std::make_unique<iam::local::LocalIam>(
            database,
            clock,
            rng,
            iam::local::LocalIamOptions{config.iam.root_tenant, config.iam.resource_prefix}
        ),
        {}};
}

IamChoice remote(const config::Config& config, store::Database& database, Clock& clock, Rng& rng) {
    const config::BetterIam& from = config.iam.better_iam;
    if (from.url.empty()) {
        throw invalid_config("iam.better_iam.url: must be set when iam.mode is better-iam");
    }
    if (from.service_key_file.empty()) {
        throw invalid_config(
            "iam.better_iam.service_key_file: must be set when iam.mode is better-iam"
        );
    }
    iam::better_iam::BetterIamOptions options;
    options.url = from.url;
    options.service_key_file = from.service_key_file;
    options.connect_ms = from.connect_ms;
    options.total_ms = from.total_ms;
    options.resource_prefix = config.iam.resource_prefix;
    auto port =
        std::make_unique<iam::better_iam::BetterIam>(database, clock, rng, std::move(options));
    method::Reconciler mirror;
    mirror.name = "iam.mirror";
    mirror.interval = kMirrorInterval;
    mirror.run = [port = port.get()](const method::Runtime&) -> std::optional<milliseconds> {
        return port->mirror_waiting(kMirrorRows) == kMirrorRows ? std::optional(milliseconds(0))
                                                                : std::nullopt;
    };
    std::vector<method::Reconciler> reconcilers;
    reconcilers.push_back(std::move(mirror));
    return {std::move(port), std::move(reconcilers)};
}

}  // namespace

IamChoice make_iam(
    const config::Config& config, store::Database& database, Clock& clock, Rng& rng
) {
    if (config.iam.mode == "local") {
        return local(config, database, clock, rng);
    }
    if (config.iam.mode == "better-iam") {
        return remote(config, database, clock, rng);
    }
    throw invalid_config(
        "iam.mode: \"" + config.iam.mode + "\" is not known", "use local or better-iam"
    );
}

}  // namespace compute::daemon
