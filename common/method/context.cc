#include "method/context.h"

#include "crypto/crypto.h"
#include "outbox/outbox.h"

namespace compute::method {

store::Rows SqlAccess::query(store::Sql sql, const store::Params& params) {
    return tx_ != nullptr ? tx_->query(sql, params) : database_->query(sql, params);
}

std::int64_t SqlAccess::execute(store::Sql sql, const store::Params& params) {
    return tx_ != nullptr ? tx_->execute(sql, params) : database_->execute(sql, params);
}

void Context::publish(store::Transaction& in, const outbox::Event& event) const {
    if (in.is_read_only()) {
        throw ComputeError(ErrorCode::InvalidState, "an event needs a transaction that writes");
    }
    if (!runtime->catalog.is_emittable(event.type)) {
        throw internal_error("no module declares the event type " + event.type);
    }
    outbox::append(in, event, runtime->clock, runtime->rng);
    // A hint only: when the process dies before it is given, fan-out's interval finds the event.
    in.after_commit([runtime = runtime] {
        runtime->wake.wake(outbox::kChannel);
        runtime->database.notify(outbox::kChannel);
    });
}

void Context::authz_upsert(store::Transaction& in, const iam::ProjectionRow& row) const {
    iam::upsert_projection(in, row, now());
}

void Context::authz_remove(store::Transaction& in, const iam::ResourceRef& resource) const {
    iam::remove_projection(in, resource);
}

store::Transaction& Context::transaction() const {
    if (tx == nullptr) {
        throw ComputeError(ErrorCode::InvalidState, "there is no transaction here");
    }
    return *tx;
}

std::string draft_id(
    std::string_view prefix,
    const TenantId& tenant_id,
    const IdentityId& identity_id,
    std::string_view key
) {
    std::string text;
    for (const std::string_view part :
         {std::string_view(tenant_id.str()), std::string_view(identity_id.str()), key}) {
        text += std::to_string(part.size()) + ":";
        text += part;
    }
    return std::string(prefix) + crockford32(crypto::sha256(text));
}

}  // namespace compute::method
