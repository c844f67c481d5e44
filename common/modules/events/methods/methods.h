// The ten methods of the group `webhooks`. Each is decided as compute:webhooks:manage on the
// tenant.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "method/module.h"
#include "modules/events/model.h"
#include "modules/events/sealing.h"
#include "modules/events/url_guard.h"

namespace compute::events {

inline constexpr const char* kManageAction = "compute:webhooks:manage";
inline constexpr std::size_t kMaxDescriptionCharacters = 512;
inline constexpr std::int64_t kMaxKeepPreviousSeconds = 86'400;
inline constexpr std::int64_t kMaxPageItems = 200;
inline constexpr std::int64_t kDefaultPageItems = 50;

// What the methods share, made once per module from the configuration.
struct MethodSettings {
    UrlRules url_rules;
    // The key of the seal is derived once, here, so that a handler (on SQLite: the writer thread)
    // pays about 2 us for one AES-GCM. Absent without a deployment secret; then create and
    // rotateSecret are INVALID_CONFIG.
    std::optional<Sealer> sealer;
};
using SharedSettings =
    std::shared_ptr<const MethodSettings>;  // one per module, kept by its handlers

[[nodiscard]] method::MethodEntry create_method(const SharedSettings& settings);
[[nodiscard]] method::MethodEntry get_method();
[[nodiscard]] method::MethodEntry list_method();
[[nodiscard]] method::MethodEntry update_method(const SharedSettings& settings);
[[nodiscard]] method::MethodEntry delete_method();
[[nodiscard]] method::MethodEntry rotate_secret_method(const SharedSettings& settings);
[[nodiscard]] method::MethodEntry ping_method();
[[nodiscard]] method::MethodEntry deliveries_method();
[[nodiscard]] method::MethodEntry redeliver_method();
[[nodiscard]] method::MethodEntry event_types_method();

// The row of every method of the group.
[[nodiscard]] method::MethodRow manage_row();

// Checks well-formed patterns: `webhook.ping` never; the others against the catalog unless the
// configuration says not to. Throws INVALID_INPUT with details.unknown.
void check_patterns(const method::Context& context, const std::vector<std::string>& patterns);

// Seals with the module's key; INVALID_CONFIG when the deployment has no secret.
[[nodiscard]] std::string seal_secret(
    const MethodSettings& settings,
    const method::Context& context,
    const crypto::Secret& secret,
    const std::string& webhook_id
);

// After the commit: engines of this and other processes look at `channel`.
void wake_after_commit(const method::Context& context, store::Transaction& tx, const char* channel);

// A method of this group over input type I (which has a member tenant_id).
template <class I>
[[nodiscard]] method::MethodEntry manage_method(
    std::string name,
    method::Kind kind,
    const schema::Manifest<I>& manifest,
    std::function<Json(method::Context&, I&)> handler
) {
    method::Method<I> method;
    method.action = kManageAction;
    method.kind = kind;
    method.resource = [](const I& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    method.input(manifest);
    method.handler = std::move(handler);
    return {"webhooks", std::move(name), method::define_method(std::move(method)), manage_row()};
}

}  // namespace compute::events
