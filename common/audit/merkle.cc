#include "audit/merkle.h"

#include <bit>

#include "crypto/crypto.h"

namespace compute::audit {
namespace {

using Hashes = std::vector<std::string>;

std::string root_of(const Hashes& leaves, std::size_t first, std::size_t count) {
    if (count == 1) {
        return leaves[first];
    }
    const std::size_t left = std::bit_floor(count - 1);
    return node_hash(root_of(leaves, first, left), root_of(leaves, first + left, count - left));
}

}  // namespace

std::string leaf_hash(std::string_view leaf) {
    return crypto::sha256(std::string(1, '\0') + std::string(leaf));
}

std::string node_hash(std::string_view left, std::string_view right) {
    std::string text(1, '\1');
    text += left;
    text += right;
    return crypto::sha256(text);
}

void GrowingTree::add(std::string leaf) {
    // As a counter carries: each trailing one of the size is a peak of the new leaf's height.
    for (std::int64_t size = size_; size % 2 == 1; size /= 2) {
        leaf = node_hash(peaks_.back(), leaf);
        peaks_.pop_back();
    }
    peaks_.push_back(std::move(leaf));
    ++size_;
}

std::string GrowingTree::root() const {
    if (peaks_.empty()) {
        return crypto::sha256("");
    }
    std::string root = peaks_.back();
    for (auto peak = peaks_.rbegin() + 1; peak != peaks_.rend(); ++peak) {
        root = node_hash(*peak, root);
    }
    return root;
}

Hashes inclusion_path(const Hashes& leaves, std::size_t index) {
    Hashes from_the_top;
    std::size_t first = 0;
    std::size_t count = leaves.size();
    while (count > 1) {
        const std::size_t left = std::bit_floor(count - 1);
        if (index - first < left) {
            from_the_top.push_back(root_of(leaves, first + left, count - left));
            count = left;
        } else {
            from_the_top.push_back(root_of(leaves, first, left));
            first += left;
            count -= left;
        }
    }
    return {from_the_top.rbegin(), from_the_top.rend()};
}

std::string root_of_path(
    std::string leaf, std::uint64_t index, std::uint64_t size, const Hashes& path
) {
    if (index >= size) {
        return {};
    }
    std::uint64_t place = index;
    std::uint64_t last = size - 1;
    for (const std::string& beside : path) {
        if (last == 0) {
            return {};
        }
        if (place % 2 == 1 || place == last) {
            leaf = node_hash(beside, leaf);
            // A last node without a right neighbour rises as it is.
            while (place % 2 == 0 && place != 0) {
                place /= 2;
                last /= 2;
            }
        } else {
            leaf = node_hash(leaf, beside);
        }
        place /= 2;
        last /= 2;
    }
    return last == 0 ? leaf : std::string();
}

}  // namespace compute::audit
