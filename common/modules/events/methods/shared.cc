#include <nlohmann/json.hpp>

#include "modules/events/methods/methods.h"
#include "modules/events/patterns.h"

namespace compute::events {

method::MethodRow manage_row() {
    method::MethodRow row;
    row.action = kManageAction;
    row.resource_type = "tenant";
    return row;
}

void check_patterns(const method::Context& context, const std::vector<std::string>& patterns) {
    std::vector<std::string> unknown;
    if (context.config().events.check_catalog) {
        unknown = unknown_patterns(patterns, context.runtime->catalog);
    } else {
        for (const std::string& pattern : patterns) {
            if (pattern == kPingType) {
                unknown.push_back(pattern);
            }
        }
    }
    if (!unknown.empty()) {
        const auto nearest = nearest_pattern(unknown.front(), context.runtime->catalog);
        throw ComputeError(
            ErrorCode::InvalidInput,
            "events: no event matches " + unknown.front(),
            ErrorExtra{
                std::make_shared<const Json>(Json{{"unknown", unknown}}),
                "",
                nearest ? "did you mean " + *nearest + "?"
                        : "better-compute api webhooks.eventTypes lists them"}
        );
    }
}

std::string seal_secret(
    const MethodSettings& settings,
    const method::Context& context,
    const crypto::Secret& secret,
    const std::string& webhook_id
) {
    if (!settings.sealer) {
        throw invalid_config("secret: webhooks need a deployment secret of at least 32 characters");
    }
    return settings.sealer->seal(secret, webhook_id, context.runtime->rng);
}

void wake_after_commit(
    const method::Context& context, store::Transaction& tx, const char* channel
) {
    tx.after_commit([runtime = context.runtime, channel] {
        runtime->wake.wake(channel);
        runtime->database.notify(channel);
    });
}

}  // namespace compute::events
