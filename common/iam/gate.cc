#include "iam/gate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "crypto/crypto.h"
#include "iam/allow_cache.h"

namespace compute::iam {
namespace {

int shortened(int wanted_ms, int contract_ms) {
    return std::clamp(wanted_ms, 0, contract_ms);
}

// Parts cannot run into each other: each is preceded by its length.
void append_part(std::string& key, std::string_view part) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
}

std::string question_key(const Session& session, const Question& question) {
    std::string key;
    // The caller is part of the key: a remote IAM's session id alone may be no more than a name.
    append_part(key, session.caller.tenant_id.str());
    append_part(key, session.caller.identity_id.str());
    append_part(key, question.tenant_id.str());
    append_part(key, question.action);
    append_part(key, question.resource.type);
    append_part(key, question.resource.id);
    append_part(key, question.source_ip.value_or(""));
    return key;
}

std::string session_group(const Session& session) {
    return session.caller.session_id.str();
}

}  // namespace

struct Gate::Impl {
    Impl(IamPort& port_in, Clock& clock, const GateOptions& options)
        : port(port_in),
          sessions(clock, shortened(options.auth_cache_ms, kAuthCacheMs), options.max_entries),
          reads(clock, shortened(options.read_cache_ms, kReadCacheMs), options.max_entries) {}

    // Runs a call of the port for a session; when the IAM says that the session is gone, so is all
    // that was cached of it.
    template <class Function>
    Decision ask(const Session& session, Function&& function) {
        try {
            return function();
        } catch (const ComputeError& error) {
            if (error.code() == ErrorCode::Unauthenticated) {
                sessions.forget(crypto::sha256(session.credential.reveal()));
                reads.forget(session_group(session));
            }
            throw;
        }
    }

    IamPort& port;
    AllowCache<Caller> sessions;  // group: SHA-256 of the credential
    AllowCache<Decision> reads;   // group: session id
};

Gate::Gate(IamPort& port, Clock& clock, GateOptions options)
    : impl_(std::make_unique<Impl>(port, clock, options)) {}

Gate::~Gate() = default;

Session Gate::authenticate(const crypto::Secret& credential) {
    const std::string hash = crypto::sha256(credential.reveal());
    if (auto cached = impl_->sessions.find(hash, {})) {
        return {*std::move(cached), credential};
    }
    AllowCache<Caller>::Asking asking(impl_->sessions, hash);
    Caller caller = impl_->port.authenticate(credential);
    asking.keep({}, caller, caller.expires_at);
    return {std::move(caller), credential};
}

Decision Gate::decide_read(const Session& session, const Question& question) {
    const std::string group = session_group(session);
    const std::string key = question_key(session, question);
    if (auto cached = impl_->reads.find(group, key)) {
        return *std::move(cached);
    }
    AllowCache<Decision>::Asking asking(impl_->reads, group);
    Decision decision =
        impl_->ask(session, [&] { return impl_->port.authorize(session, question); });
    if (decision.is_allowed) {
        asking.keep(key, decision, session.caller.expires_at);
    }
    return decision;
}

Decision Gate::decide_mutation(const Session& session, const Question& question) {
    return impl_->ask(session, [&] { return impl_->port.require(session, question); });
}

void Gate::forget_reads(const Session& session) {
    impl_->reads.forget(session_group(session));
}

IamPort& Gate::port() noexcept {
    return impl_->port;
}

bool Gate::caches_credential_as_for_test(std::string_view key) const {
    return impl_->sessions.has_group(std::string(key));
}

}  // namespace compute::iam
