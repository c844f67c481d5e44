// Checkpoints and leaves as text: JSON for proofs, one line a leaf in the database.
#include <charconv>

#include <nlohmann/json.hpp>

#include "audit/checkpoint.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

// A leaf is a line: place, tree, id, digest (base64url), with a space between.
constexpr char kBetween = ' ';
constexpr char kEnd = '\n';

std::string_view take_until(std::string_view& text, char end) {
    const auto place = text.find(end);
    if (place == std::string_view::npos) {
        return {};
    }
    const std::string_view taken = text.substr(0, place);
    text.remove_prefix(place + 1);
    return taken;
}

std::optional<Leaf> find_leaf(std::string_view line) {
    const auto position = find_position(take_until(line, kBetween));
    const std::string_view tree = take_until(line, kBetween);
    const std::string_view id = take_until(line, kBetween);
    auto digest = crypto::from_base64url(line);
    Leaf leaf;
    const auto [end, error] = std::from_chars(tree.data(), tree.data() + tree.size(), leaf.tree);
    if (!position || id.empty() || !digest || digest->size() != crypto::kSha256Bytes ||
        error != std::errc() || end != tree.data() + tree.size()) {
        return std::nullopt;
    }
    leaf.position = *position;
    leaf.id = std::string(id);
    leaf.digest = std::move(*digest);
    return leaf;
}

// Members of a JSON object, each taken once; what is left over is a mistake.
class Members {
public:
    explicit Members(const Json& value) {
        if (!value.is_object()) {
            throw invalid_input("checkpoint: must be an object");
        }
        rest_ = value;
    }

    std::int64_t number(const char* name) {
        const Json value = take(name);
        if (!value.is_number_integer()) {
            throw invalid_input(std::string("checkpoint.") + name + ": must be an integer");
        }
        return value.get<std::int64_t>();
    }
    std::string text(const char* name) {
        const Json value = take(name);
        if (!value.is_string()) {
            throw invalid_input(std::string("checkpoint.") + name + ": must be a text");
        }
        return value.get<std::string>();
    }
    Position position(const char* name) {
        const auto position = find_position(text(name));
        if (!position) {
            throw invalid_input(
                std::string("checkpoint.") + name + ": must be two numbers with a dot between"
            );
        }
        return *position;
    }
    void check_empty() const {
        if (!rest_.empty()) {
            throw invalid_input("checkpoint: unknown member " + rest_.begin().key());
        }
    }

private:
    Json take(const char* name) {
        const auto found = rest_.find(name);
        if (found == rest_.end()) {
            throw invalid_input(std::string("checkpoint.") + name + ": is missing");
        }
        Json value = *found;
        rest_.erase(found);
        return value;
    }

    Json rest_;
};

}  // namespace

std::string write_leaves(const std::vector<Leaf>& leaves) {
    std::string text;
    for (const Leaf& leaf : leaves) {
        text += leaf.position.str();
        text += kBetween;
        text += std::to_string(leaf.tree);
        text += kBetween;
        text += leaf.id;
        text += kBetween;
        text += crypto::to_base64url(leaf.digest);
        text += kEnd;
    }
    return text;
}

std::optional<std::vector<Leaf>> find_leaves(std::string_view text) {
    std::vector<Leaf> leaves;
    while (!text.empty()) {
        auto leaf = find_leaf(take_until(text, kEnd));
        if (!leaf || (!leaves.empty() && leaf->position <= leaves.back().position)) {
            return std::nullopt;
        }
        leaves.push_back(std::move(*leaf));
    }
    return leaves;
}

Json checkpoint_json(const Checkpoint& checkpoint) {
    return {
        {"number", checkpoint.number},
        {"seal", checkpoint.seal},
        {"tenantId", checkpoint.tenant_id},
        {"tenantNumber", checkpoint.tenant_number},
        {"from", checkpoint.from.str()},
        {"to", checkpoint.to.str()},
        {"firstTime", checkpoint.first_time},
        {"lastTime", checkpoint.last_time},
        {"sealedAt", checkpoint.sealed_at},
        {"rows", checkpoint.rows},
        {"root", checkpoint.root},
        {"previous", checkpoint.previous},
        {"tenantPrevious", checkpoint.tenant_previous},
        {"keyId", checkpoint.key_id},
        {"signature", checkpoint.signature}};
}

Checkpoint checkpoint_of_json(const Json& value) {
    Members members(value);
    Checkpoint checkpoint;
    checkpoint.number = members.number("number");
    checkpoint.seal = members.number("seal");
    checkpoint.tenant_id = members.text("tenantId");
    checkpoint.tenant_number = members.number("tenantNumber");
    checkpoint.from = members.position("from");
    checkpoint.to = members.position("to");
    checkpoint.first_time = members.number("firstTime");
    checkpoint.last_time = members.number("lastTime");
    checkpoint.sealed_at = members.number("sealedAt");
    checkpoint.rows = members.number("rows");
    checkpoint.root = members.text("root");
    checkpoint.previous = members.text("previous");
    checkpoint.tenant_previous = members.text("tenantPrevious");
    checkpoint.key_id = members.text("keyId");
    checkpoint.signature = members.text("signature");
    members.check_empty();
    return checkpoint;
}

}  // namespace compute::audit
