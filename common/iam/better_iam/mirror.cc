#include "iam/better_iam/mirror.h"

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace compute::iam::better_iam {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryPause{25};  // while another process holds the lease
constexpr milliseconds kLease{
    10'000};  // longer than any sending under it: two calls of at most kMirrorWait each
constexpr EpochMs kLookBackMs =
    600'000;  // a transaction older than this, or a clock further off, waits for the next full look
constexpr EpochMs kFullLookMs = 3'600'000;

constexpr store::Sql kWaiting(
    "select r.type, r.id from authz_resources r left join iam_mirror m on m.type = r.type and m.id "
    "= r.id "
    "where r.updated_at >= $1 and (m.version is null or m.version <> r.updated_at) order by "
    "r.updated_at limit $2"
);
constexpr store::Sql kRow(
    "select r.updated_at, r.tenant_id, r.attributes, r.pending, r.owner_id, m.version "
    "from authz_resources r left join iam_mirror m on m.type = r.type and m.id = r.id where r.type "
    "= $1 and r.id = $2"
);
constexpr store::Sql kLeaseRow(
    "insert into iam_mirror (type, id, version, lease_token, lease_until) values ($1, $2, 0, $3, "
    "$4) "
    "on conflict (type, id) do update set lease_token = excluded.lease_token, lease_until = "
    "excluded.lease_until "
    "where iam_mirror.lease_until <= $5"
);
constexpr store::Sql kMark(
    "update iam_mirror set version = $4, lease_until = 0 where type = $1 and id = $2 and "
    "lease_token = $3"
);
constexpr store::Sql kRelease(
    "update iam_mirror set lease_until = 0 where type = $1 and id = $2 and lease_token = $3"
);
constexpr store::Sql kForgetRemoved(
    "delete from iam_mirror where lease_until <= $1 and not exists "
    "(select 1 from authz_resources r where r.type = iam_mirror.type and r.id = iam_mirror.id)"
);

bool is_marked(const store::Row& row) {
    return !row.is_null(5) && row.get_int(5) == row.get_int(0);
}

}  // namespace

Mirror::Mirror(
    store::Database& database, Clock& clock, Rng& rng, std::string resource_prefix, Send send
)
    : database_(database),
      clock_(clock),
      rng_(rng),
      resource_prefix_(std::move(resource_prefix)),
      send_(std::move(send)) {}

void Mirror::bring(const ResourceRef& resource) {
    const std::int64_t deadline = clock_.steady_ms() + kMirrorWait.count();
    while (true) {
        const std::int64_t left = deadline - clock_.steady_ms();
        if (left <= 0) {
            throw unavailable(
                "resource " + resource.type + "/" + resource.id + " could not be mirrored in time"
            );
        }
        const Step step = try_once(resource, milliseconds(left));
        if (step == Step::Done) {
            return;
        }
        if (step == Step::Busy) {
            clock_.sleep(kRetryPause, {});
        }
    }
}

// After a send the row is looked at again: it may have changed meanwhile.
Mirror::Step Mirror::try_once(const ResourceRef& resource, milliseconds timeout) {
    const store::Rows seen =
        database_.query(kRow, {resource.type, resource.id}, store::Purpose::Iam);
    if (seen.empty() || is_marked(seen.front())) {
        return Step::Done;
    }
    const std::string token = new_id("lse_", clock_, rng_);
    const EpochMs now = clock_.now_ms();
    if (database_.execute(
            kLeaseRow,
            {resource.type, resource.id, token, now + kLease.count(), now},
            store::Purpose::Iam
        ) == 0) {
        return Step::Busy;
    }
    try {
        // Read again under the lease: what was seen before it may be old.
        const store::Rows rows =
            database_.query(kRow, {resource.type, resource.id}, store::Purpose::Iam);
        if (!rows.empty() && !is_marked(rows.front())) {
            send(resource, rows.front(), timeout);
            database_.execute(
                kMark,
                {resource.type, resource.id, token, rows.front().get_int(0)},
                store::Purpose::Iam
            );
            return Step::Sent;
        }
        database_.execute(kRelease, {resource.type, resource.id, token}, store::Purpose::Iam);
        return Step::Sent;
    } catch (const ComputeError&) {
        database_.execute(kRelease, {resource.type, resource.id, token}, store::Purpose::Iam);
        throw;
    }
}

void Mirror::send(const ResourceRef& resource, const store::Row& row, milliseconds timeout) {
    Json attributes = Json::parse(row.get_text(2));
    if (const auto pending = row.find_text(3)) {
        attributes.update(Json::parse(*pending));
    }
    Json body{
        {"tenantId", row.get_text(1)},
        {"type", resource_prefix_ + resource.type},
        {"id", resource.id},
        {"attributes", std::move(attributes)}};
    if (const auto owner = row.find_text(4)) {
        body["ownerId"] = *owner;
    }
    const std::int64_t deadline = clock_.steady_ms() + timeout.count();
    Answer answer = send_("resources/register", body, timeout);
    if (answer.status == 409) {
        const milliseconds left(std::max<std::int64_t>(deadline - clock_.steady_ms(), 1));
        answer = send_("resources/update", body, left);
    }
    if (!answer.is_ok()) {
        throw unavailable(
            "resource " + resource.type + "/" + resource.id + " was not taken: " + answer.message
        );
    }
}

std::vector<ResourceRef> Mirror::waiting(int limit) {
    const EpochMs now = clock_.now_ms();
    const EpochMs seen_until = seen_until_;
    // Once in a while everything is looked at; in between only what changed lately.
    const bool is_full = seen_until == 0 || now / kFullLookMs != seen_until / kFullLookMs;
    const EpochMs from = is_full ? 0 : seen_until - kLookBackMs;
    std::vector<ResourceRef> out;
    for (const store::Row& row :
         database_.query(kWaiting, {from, limit}, store::Purpose::Background)) {
        out.push_back({row.get_text(0), row.get_text(1)});
    }
    if (out.empty()) {
        if (is_full) {
            database_.execute(kForgetRemoved, {now}, store::Purpose::Background);
        }
        seen_until_ = now;
    }
    return out;
}

int Mirror::bring_waiting(int limit) {
    int sent = 0;
    std::exception_ptr first_error;
    for (const ResourceRef& resource : waiting(limit)) {
        try {
            if (try_once(resource, kMirrorWait) == Step::Sent) {
                ++sent;
            }
        } catch (const ComputeError&) {
            if (first_error == nullptr) {
                first_error = std::current_exception();
            }
        }
    }
    if (first_error != nullptr) {
        std::rethrow_exception(first_error);
    }
    return sent;
}

}  // namespace compute::iam::better_iam
