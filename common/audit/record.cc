#include "audit/record.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "audit/fields.h"
#include "audit/merkle.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

constexpr std::string_view kRowPurpose = "better-compute/audit-row/v1";
constexpr std::string_view kPosition = "position";

// In the order of the columns below. Whoever checks a proof by other means needs this order.
constexpr std::array<std::string_view, kRecordFields> kRecordNames = {
    "id",
    "time",
    "tenantId",
    "identityId",
    "identityKind",
    "actorTenantId",
    "sessionId",
    "sessionKind",
    "agentId",
    "delegationId",
    "method",
    "action",
    "resourceType",
    "resourceId",
    "decisionReason",
    "admission",
    "requestId",
    "sourceIp",
    "parentId"};
constexpr std::size_t kTimeField = 1;

// The time as text: SQLite keeps whatever somebody writes into it, and then it must be named, not
// fail. Tenants are not told apart: rows are sealed for all of them, in one order.
#define COMPUTE_AUDIT_COLUMNS                                                                      \
    "id, cast(time as text), tenant_id, identity_id, identity_kind, actor_tenant_id, session_id, " \
    "session_kind, "                                                                               \
    "agent_id, delegation_id, method, action, resource_type, resource_id, decision_reason, "       \
    "admission, request_id, source_ip, parent_id from audit_events "
constexpr store::Sql kRead(
    "select 0, seq, " COMPUTE_AUDIT_COLUMNS "where seq > $2 and seq <= $4 order by seq limit $5",
    "select txid, seq, " COMPUTE_AUDIT_COLUMNS
    "where (txid, seq) > ($1, $2) and (txid, seq) <= ($3, $4) order by txid, seq limit $5"
);
constexpr store::Sql kReadOfTenant(
    "select 0, seq, " COMPUTE_AUDIT_COLUMNS
    "where tenant_id = $6 and seq > $2 and seq <= $4 order by seq limit $5",
    "select txid, seq, " COMPUTE_AUDIT_COLUMNS
    "where tenant_id = $6 and (txid, seq) > ($1, $2) and (txid, seq) <= ($3, $4) "
    "order by txid, seq limit $5"
);
constexpr store::Sql kCountBehind(
    "select count(*) from audit_events where seq > $2",
    "select count(*) from audit_events where (txid, seq) > ($1, $2)"
);
constexpr store::Sql kCountOfTenant(
    "select count(*) from audit_events where tenant_id = $3 and seq > $2",
    "select count(*) from audit_events where tenant_id = $3 and (txid, seq) > ($1, $2)"
);
constexpr store::Sql kFind(
    "select 0, seq, " COMPUTE_AUDIT_COLUMNS "where id = $1",
    "select txid, seq, " COMPUTE_AUDIT_COLUMNS "where id = $1"
);
// As the outbox reads: below the lowest transaction under way.
constexpr store::Sql kSettled(
    "select 0, coalesce(max(seq), 0) from audit_events",
    "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + txid_offset - 1, "
    "9223372036854775807 from outbox_state where id = 1"
);

Record record_of_row(const store::Row& row) {
    Record record;
    record.position = {row.get_int(0), row.get_int(1)};
    for (std::size_t i = 0; i < kRecordFields; ++i) {
        record.fields[i] = row.find_text(i + 2);
    }
    return record;
}

std::optional<std::int64_t> find_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::optional<Position> find_position(std::string_view text) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) {
        return std::nullopt;
    }
    const auto txid = find_number(text.substr(0, dot));
    const auto seq = find_number(text.substr(dot + 1));
    if (!txid || !seq) {
        return std::nullopt;
    }
    const Position position{*txid, *seq};
    return position.str() == text ? std::optional(position) : std::nullopt;
}

const std::string& Record::text(std::size_t field) const {
    static const std::string kNone;
    return fields[field] ? *fields[field] : kNone;
}

EpochMs Record::time() const {
    return find_number(text(kTimeField)).value_or(0);
}

std::vector<Record> read_records(
    store::Transaction& tx, const Span& span, const std::optional<std::string>& tenant_id
) {
    store::Params params = {
        span.after.txid, span.after.seq, span.until.txid, span.until.seq, span.limit};
    if (tenant_id) {
        params.emplace_back(*tenant_id);
    }
    std::vector<Record> records;
    for (const store::Row& row : tx.query(tenant_id ? kReadOfTenant : kRead, params)) {
        records.push_back(record_of_row(row));
    }
    return records;
}

std::int64_t count_records_behind(
    store::Transaction& tx, Position after, const std::optional<std::string>& tenant_id
) {
    store::Params params = {after.txid, after.seq};
    if (tenant_id) {
        params.emplace_back(*tenant_id);
    }
    return tx.get_row(tenant_id ? kCountOfTenant : kCountBehind, params).get_int(0);
}

std::optional<Record> find_record(store::Transaction& tx, const std::string& id) {
    const auto row = tx.find_row(kFind, {id});
    return row ? std::optional(record_of_row(*row)) : std::nullopt;
}

Position last_settled(store::Transaction& tx) {
    const store::Row row = tx.get_row(kSettled);
    return {row.get_int(0), row.get_int(1)};
}

std::string digest_of(const Record& record) {
    FieldBytes bytes(kRowPurpose);
    bytes.add(std::string_view(record.position.str()));
    for (const auto& field : record.fields) {
        bytes.add(field);
    }
    return crypto::sha256(bytes.bytes());
}

std::string Leaf::hash() const {
    FieldBytes bytes(id);
    bytes.add(std::string_view(digest));
    return leaf_hash(bytes.bytes());
}

Json record_json(const Record& record) {
    Json out = {{kPosition, record.position.str()}};
    for (std::size_t i = 0; i < kRecordFields; ++i) {
        if (!record.fields[i]) {
            continue;
        }
        out[std::string(kRecordNames[i])] =
            i == kTimeField ? Json(record.time()) : Json(*record.fields[i]);
    }
    return out;
}

Record record_of_json(const Json& value) {
    if (!value.is_object()) {
        throw invalid_input("row: must be an object");
    }
    Record record;
    for (const auto& [name, member] : value.items()) {
        if (name == kPosition) {
            const auto position = member.is_string()
                                      ? find_position(member.get_ref<const std::string&>())
                                      : std::nullopt;
            if (!position) {
                throw invalid_input("row.position: must be two numbers with a dot between");
            }
            record.position = *position;
            continue;
        }
        const auto* const known = std::find(kRecordNames.begin(), kRecordNames.end(), name);
        if (known == kRecordNames.end()) {
            throw invalid_input("row: unknown member " + name);
        }
        const auto field = static_cast<std::size_t>(known - kRecordNames.begin());
        if (field == kTimeField ? !member.is_number_integer() : !member.is_string()) {
            throw invalid_input("row." + name + ": is of the wrong type");
        }
        record.fields[field] = field == kTimeField ? std::to_string(member.get<std::int64_t>())
                                                   : member.get<std::string>();
    }
    if (record.id().empty() || !value.contains(kPosition)) {
        throw invalid_input("row: id and position are required");
    }
    return record;
}

}  // namespace compute::audit
