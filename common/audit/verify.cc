#include "audit/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "audit/verify_rows.h"
#include "core/error.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

constexpr int kPage = 500;  // checkpoints read at once

struct KnownKey {
    std::string public_key;  // raw bytes
    KeyTrust trust = KeyTrust::Unreadable;
    bool is_named = false;  // by whoever verifies
    [[nodiscard]] bool is_trusted() const noexcept {
        return is_named || trust == KeyTrust::Vouched || trust == KeyTrust::Previous;
    }
};

class Verifier {
public:
    Verifier(
        store::Database& database,
        const crypto::SecretBox* box,
        const VerifyOptions& options,
        const std::function<void(std::int64_t, std::int64_t)>& on_progress
    )
        : database_(database), options_(options), on_progress_(on_progress) {
        database_.read(
            [&](store::Transaction& tx) {
                state_ = read_seal_state(tx);
                learn_keys(read_keys(tx, box));
            },
            store::Purpose::Background
        );
    }

    Verification run() {
        start();
        bool has_more = true;
        std::vector<Checkpoint> seal;  // gathered until the next seal begins
        for (std::int64_t after = last_; has_more && !out_.is_cut;) {
            const auto page = database_.read(
                [&](store::Transaction& tx) { return read_checkpoints(tx, after, kPage); },
                store::Purpose::Background
            );
            has_more = page.size() == static_cast<std::size_t>(kPage);
            for (const Checkpoint& checkpoint : page) {
                if (checkpoint.number > state_.checkpoint) {
                    has_more = false;  // sealed since this began
                    break;
                }
                if (!seal.empty() && seal.back().seal != checkpoint.seal) {
                    judge_rows(seal);
                    seal.clear();
                }
                judge_chain(checkpoint);
                seal.push_back(checkpoint);
                after = checkpoint.number;
            }
        }
        if (!seal.empty()) {
            judge_rows(seal);
        }
        finish();
        return std::move(out_);
    }

private:
    void learn_keys(const std::vector<Key>& keys) {
        for (const Key& key : keys) {
            keys_[key.id] = {crypto::from_base64url(key.public_key).value_or(""), key.trust};
        }
        for (const std::string& named : options_.keys) {
            const auto bytes = crypto::from_base64url(named);
            if (!bytes || bytes->size() != 32) {
                throw invalid_input("key: must be the base64url of an Ed25519 public key");
            }
            keys_[key_id_of(*bytes)] = {*bytes, KeyTrust::Unreadable, true};
        }
    }

    // With `since` the chain is taken up at the checkpoint before the first wanted one.
    void start() {
        first_ = 1;
        if (options_.since) {
            const auto first = database_.read(
                [&](store::Transaction& tx) { return find_first_since(tx, *options_.since); },
                store::Purpose::Background
            );
            first_ = first.value_or(state_.checkpoint + 1);
        }
        last_ = first_ - 1;
        if (last_ > 0) {
            const auto before = database_.read(
                [&](store::Transaction& tx) { return read_checkpoints(tx, last_ - 1, 1); },
                store::Purpose::Background
            );
            if (!before.empty() && before.front().number == last_) {
                last_hash_ = before.front().hash();
            }
        }
    }

    void judge_chain(const Checkpoint& checkpoint) {
        if (checkpoint.number != last_ + 1) {
            tell_missing(last_ + 1, checkpoint.number - 1);
        } else if (checkpoint.previous != last_hash_) {
            fault(
                checkpoint.number,
                "does not name checkpoint " + std::to_string(last_) +
                    " as it is: one of the two was changed"
            );
        }
        last_ = checkpoint.number;
        last_hash_ = checkpoint.hash();
        is_anchored_ = is_anchored_ || last_hash_ == options_.anchor;
        if (!options_.tenant_id || *options_.tenant_id == checkpoint.tenant_id) {
            judge_tenant_chain(checkpoint);
            judge_signature(checkpoint);
            ++out_.checkpoints;
        }
        if (on_progress_) {
            on_progress_(last_ - first_ + 1, state_.checkpoint - first_ + 1);
        }
    }

    void judge_tenant_chain(const Checkpoint& checkpoint) {
        auto& [number, hash] = tenants_[checkpoint.tenant_id];
        if (number == 0 && checkpoint.tenant_number > 1) {
            // The tenant's first one behind `since`.
            const auto before = database_.read(
                [&](store::Transaction& tx) {
                    return find_of_tenant(tx, checkpoint.tenant_id, checkpoint.tenant_number - 1);
                },
                store::Purpose::Background
            );
            if (before && before->number < first_) {
                number = before->tenant_number;
                hash = before->hash();
            }
        }
        if (checkpoint.tenant_number != number + 1 || checkpoint.tenant_previous != hash) {
            fault(
                checkpoint.number,
                "does not follow the checkpoint before it of tenant " + checkpoint.tenant_id
            );
        }
        number = checkpoint.tenant_number;
        hash = last_hash_;
    }

    void judge_signature(const Checkpoint& checkpoint) {
        const KnownKey* const key = find_trusted(checkpoint.key_id, checkpoint.number);
        if (key == nullptr) {
            return;
        }
        const auto signature = crypto::from_base64url(checkpoint.signature);
        if (!signature ||
            !crypto::ed25519_verify(key->public_key, checkpoint.bytes(), *signature)) {
            fault(checkpoint.number, "was changed: its signature does not fit");
        }
    }

    // Said once for a key, at the first checkpoint that needs it.
    const KnownKey* find_trusted(const std::string& id, std::optional<std::int64_t> checkpoint) {
        const auto found = keys_.find(id);
        if (found != keys_.end() && found->second.is_trusted()) {
            return &found->second;
        }
        if (told_keys_.insert(id).second) {
            std::string why = "key " + id + " is not known";
            if (found != keys_.end()) {
                why = found->second.trust == KeyTrust::Forged
                          ? "the public key of key " + id + " was changed"
                          : "no configured secret opens key " + id +
                                ", so nothing vouches for what it signed; name its public key with "
                                "--key if you kept it";
            }
            add_fault(out_, {{}, checkpoint, std::move(why)});
        }
        return nullptr;
    }

    // A place that nobody signed excuses nothing.
    Position judge_mark(const SealState& state) {
        if (!state.pruned_signature) {
            return kLowest;
        }
        if (state.pruned == mark_.first) {
            return mark_.second;
        }
        mark_ = {state.pruned, kLowest};
        const KnownKey* const key = find_trusted(state.pruned_key.value_or(""), {});
        const auto signature = crypto::from_base64url(*state.pruned_signature);
        if (key != nullptr && signature &&
            crypto::ed25519_verify(key->public_key, prune_mark_bytes(state.pruned), *signature)) {
            mark_.second = state.pruned;
        } else {
            add_fault(out_, {{}, {}, "the place up to which rows were pruned is not signed by us"});
        }
        return mark_.second;
    }

    void judge_rows(const std::vector<Checkpoint>& seal) {
        verify_rows(
            database_,
            seal,
            options_.tenant_id,
            [this](const SealState& state) { return judge_mark(state); },
            out_
        );
    }

    void finish() {
        if (!out_.is_cut && last_ < state_.checkpoint) {
            tell_missing(last_ + 1, state_.checkpoint);
        } else if (!out_.is_cut && last_ > 0 && last_hash_ != state_.hash) {
            fault(last_, "is not the one that was sealed last");
        }
        if (options_.anchor && !is_anchored_) {
            add_fault(
                out_,
                {{}, {}, "no checkpoint has the hash " + *options_.anchor + ": the chain was cut"}
            );
        }
        std::vector<Checkpoint> beyond;
        out_.unsealed = database_.read(
            [&](store::Transaction& tx) {
                const SealState now = read_seal_state(tx);
                beyond = read_checkpoints(tx, now.checkpoint, 1);
                return count_records_behind(tx, now.end(), options_.tenant_id);
            },
            store::Purpose::Background
        );
        if (!beyond.empty()) {
            fault(beyond.front().number, "lies behind the end of the chain");
        }
        out_.last = last_;
        out_.last_hash = last_hash_;
    }

    void tell_missing(std::int64_t first, std::int64_t last) {
        const std::string which = first == last ? " is" : " to " + std::to_string(last) + " are";
        add_fault(out_, {{}, first, "checkpoint " + std::to_string(first) + which + " missing"});
    }

    void fault(std::int64_t number, const std::string& message) {
        add_fault(out_, {{}, number, "checkpoint " + std::to_string(number) + " " + message});
    }

    store::Database& database_;
    const VerifyOptions& options_;
    const std::function<void(std::int64_t, std::int64_t)>& on_progress_;
    SealState state_;
    std::map<std::string, KnownKey> keys_;
    std::set<std::string> told_keys_;
    std::map<std::string, std::pair<std::int64_t, std::string>> tenants_;
    std::pair<Position, Position> mark_{kLowest, kLowest};  // the place, and what it excuses
    std::int64_t first_ = 1;
    std::int64_t last_ = 0;
    std::string last_hash_;
    bool is_anchored_ = false;
    Verification out_;
};

}  // namespace

Verification verify(
    store::Database& database,
    const crypto::SecretBox* box,
    const VerifyOptions& options,
    const std::function<void(std::int64_t done, std::int64_t all)>& on_progress
) {
    return Verifier(database, box, options, on_progress).run();
}

}  // namespace compute::audit
