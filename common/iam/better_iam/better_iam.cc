#include "iam/better_iam/better_iam.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/guarded.h"
#include "crypto/crypto.h"
#include "iam/better_iam/mirror.h"
#include "iam/better_iam/wire.h"

namespace compute::iam::better_iam {
namespace {

constexpr std::size_t kMaxCredentialBytes = 4'096;
constexpr std::size_t kMaxKeyBytes = 4'096;
constexpr std::int64_t kDefaultConfirmationMs =
    900'000;  // for one whose expiry the remote IAM does not tell

constexpr store::Sql kKeepConfirmation(
    "insert into iam_remote_confirmations (request, confirmation_id, expires_at) values ($1, $2, "
    "$3) "
    "on conflict (request) do update set confirmation_id = excluded.confirmation_id, expires_at = "
    "excluded.expires_at"
);
constexpr store::Sql kFindConfirmation(
    "select confirmation_id, expires_at from iam_remote_confirmations where request = $1 and "
    "expires_at > $2"
);
constexpr store::Sql kDropExpired("delete from iam_remote_confirmations where expires_at <= $1");

bool is_visible(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

crypto::Secret read_key(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(kMaxKeyBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
        text.pop_back();
    }
    if (text.empty() || text.size() > kMaxKeyBytes || !is_visible(text)) {
        throw invalid_config(
            "iam.better_iam.service_key_file: " + path + " holds no service key",
            "write the deployment's service key into it, alone on one line"
        );
    }
    return crypto::Secret(std::move(text));
}

[[noreturn]] void refuse_credential() {
    throw ComputeError(ErrorCode::Unauthenticated, "the credential is not valid");
}

// What every answer to a caller's own credential may mean, whatever was asked.
void check_caller_answer(const Answer& answer) {
    if (answer.status == 401) {
        refuse_credential();
    }
    if (answer.status == 429) {
        throw rate_limited(answer);
    }
}

Json question_body(const Question& question) {
    return Json{
        {"tenantId", question.tenant_id.str()},
        {"action", question.action},
        {"resource", Json{{"type", question.resource.type}, {"id", question.resource.id}}}};
}

// Names a held request of a session; no part can run into another, and the key tells nothing.
std::string request_key(
    const Session& session, const Question& question, std::string_view request_hash
) {
    Json parts = question_body(question);
    parts["session"] = session.caller.session_id.str();
    parts["identity"] = session.caller.identity_id.str();
    parts["hash"] = std::string(request_hash);
    return crypto::to_hex(crypto::sha256(parts.dump()));
}

Caller caller_of(const Answer& answer, const crypto::Secret& credential) {
    Caller caller;
    caller.identity_id = IdentityId(get_text(answer, "identityId"));
    caller.tenant_id = TenantId(get_text(answer, "tenantId"));
    caller.identity_kind = find_text(answer, "identityKind").value_or("user");
    // Without a name for the session the credential's hash stands for it: what is cached of a
    // session must be its own.
    caller.session_id = SessionId(
        find_text(answer, "sessionId").value_or(crypto::to_hex(crypto::sha256(credential.reveal())))
    );
    caller.agent_id = find_text(answer, "agentId");
    caller.delegation_id = find_text(answer, "delegationId");
    caller.session_kind =
        find_text(answer, "sessionKind").value_or(caller.delegation_id ? "delegated" : "token");
    const auto mfa = answer.body.find("mfa");
    caller.mfa = mfa != answer.body.end() && mfa->is_boolean() && mfa->get<bool>();
    caller.expires_at = find_time(answer, "expiresAt");
    return caller;
}

}  // namespace

struct BetterIam::Impl {
    Impl(store::Database& database_in, Clock& clock_in, Rng& rng, BetterIamOptions options_in)
        : database(database_in),
          clock(clock_in),
          options(std::move(options_in)),
          wire(
              options.url,
              net::HttpClientOptions{
                  .ca_file = options.ca_file,
                  .connect_timeout = std::chrono::milliseconds(options.connect_ms),
                  .total_timeout = std::chrono::milliseconds(options.total_ms),
                  .max_response_bytes = kMaxAnswerBytes,
                  .max_connections = 16}
          ),
          key(read_key(options.service_key_file)),
          mirror(
              database,
              clock,
              rng,
              options.resource_prefix,
              [this](const std::string& path, const Json& body, std::chrono::milliseconds timeout) {
                  return post_as_service(path, body, timeout);
              }
          ) {}

    // The service key is ours: when it is refused, nobody's session is gone. It is read anew once,
    // for it may have been rotated.
    Answer post_as_service(
        const std::string& path, const Json& body, std::chrono::milliseconds timeout
    ) {
        const auto bounded = std::min(timeout, std::chrono::milliseconds(options.total_ms));
        Answer answer =
            wire.post(path, key.with([](const crypto::Secret& k) { return k; }), body, bounded);
        if (answer.status == 401) {
            crypto::Secret fresh = read_key(options.service_key_file);
            answer = wire.post(path, fresh, body, bounded);
            key.with([&](crypto::Secret& k) { k = std::move(fresh); });
        }
        if (answer.status == 401) {
            throw unavailable(path + ": the service key is refused");
        }
        return answer;
    }

    Decision decide(const Session& session, const Question& question) {
        sync(question.resource);
        const Answer answer = wire.post("authorize", session.credential, question_body(question));
        check_caller_answer(answer);
        if (!answer.is_ok()) {
            return {false, "refused by the remote IAM: " + answer.message};
        }
        return {get_bool(answer, "allowed"), find_text(answer, "reason").value_or("remote")};
    }

    void sync(const ResourceRef& resource) {
        if (resource.type.starts_with(options.resource_prefix)) {
            mirror.bring({resource.type.substr(options.resource_prefix.size()), resource.id});
        }
    }

    std::optional<Confirmation> known_confirmation(const std::string& request) {
        const store::Rows rows =
            database.query(kFindConfirmation, {request, clock.now_ms()}, store::Purpose::Iam);
        if (rows.empty()) {
            return std::nullopt;
        }
        return Confirmation{rows[0].get_text(0), rows[0].get_int(1)};
    }

    void keep_confirmation(const std::string& request, const Confirmation& confirmation) {
        const EpochMs now = clock.now_ms();
        database.write(
            [&](store::Transaction& tx) {
                tx.defer(kDropExpired, {now});
                tx.defer(
                    kKeepConfirmation,
                    {request,
                     confirmation.id,
                     confirmation.expires_at.value_or(now + kDefaultConfirmationMs)}
                );
            },
            store::Purpose::Iam
        );
    }

    store::Database& database;
    Clock& clock;
    BetterIamOptions options;
    Wire wire;
    Guarded<crypto::Secret> key;
    Mirror mirror;
};

BetterIam::BetterIam(store::Database& database, Clock& clock, Rng& rng, BetterIamOptions options)
    : impl_(std::make_unique<Impl>(database, clock, rng, std::move(options))) {}

BetterIam::~BetterIam() = default;

Caller BetterIam::authenticate(const crypto::Secret& credential) {
    if (credential.empty() || credential.size() > kMaxCredentialBytes ||
        !is_visible(credential.reveal())) {
        refuse_credential();
    }
    const Answer answer = impl_->wire.post("sts/getCallerIdentity", credential, Json::object());
    check_caller_answer(answer);
    if (!answer.is_ok()) {
        // A credential that the remote IAM will not even name has no session here.
        refuse_credential();
    }
    return caller_of(answer, credential);
}

Decision BetterIam::authorize(const Session& session, const Question& question) {
    return impl_->decide(session, question);
}

Decision BetterIam::require(const Session& session, const Question& question) {
    return impl_->decide(session, question);
}

std::optional<Confirmation> BetterIam::request_confirmation(
    const Session& session,
    const Question& question,
    std::string_view reason,
    std::string_view request_hash
) {
    Json body = question_body(question);
    body["reason"] = std::string(reason);
    const Answer answer =
        impl_->wire.post("delegations/requestConfirmation", session.credential, body);
    const std::string request = request_key(session, question, request_hash);
    if (answer.status == 429) {
        if (auto known = impl_->known_confirmation(request)) {
            return known;
        }
    }
    check_caller_answer(answer);
    if (!answer.is_ok()) {
        return std::nullopt;
    }
    const Confirmation confirmation{
        get_text(answer, "confirmationId"), find_time(answer, "expiresAt")};
    impl_->keep_confirmation(request, confirmation);
    return confirmation;
}

BillingVerdict
BetterIam::billing_check(const Session& session, const TenantId& tenant_id, double /*gpu_hours*/) {
    const Answer answer =
        impl_->wire.post("billing/check", session.credential, Json{{"tenantId", tenant_id.str()}});
    check_caller_answer(answer);
    if (!answer.is_ok()) {
        return {false, "refused by the remote IAM"};
    }
    return {get_bool(answer, "allowed"), find_text(answer, "blockedBy")};
}

void BetterIam::sync_resource(const ResourceRef& resource, const TenantId& /*tenant_id*/) {
    impl_->sync(resource);
}

int BetterIam::mirror_waiting(int limit) {
    return impl_->mirror.bring_waiting(limit);
}

}  // namespace compute::iam::better_iam
