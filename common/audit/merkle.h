// Merkle trees as RFC 6962, section 2.1, defines them: a leaf is hashed behind a byte 0, two nodes
// behind a byte 1, so that neither can pass for the other; a tree of n leaves splits at the largest
// power of two below n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace compute::audit {

// 32 raw bytes each.
[[nodiscard]] std::string leaf_hash(std::string_view leaf);
[[nodiscard]] std::string node_hash(std::string_view left, std::string_view right);

// A tree that is read once from left to right: keeps one hash for each bit of its size.
class GrowingTree {
public:
    void add(std::string leaf);
    [[nodiscard]] std::int64_t size() const noexcept { return size_; }
    // The hash of the tree so far; of none: SHA-256 of nothing.
    [[nodiscard]] std::string root() const;

private:
    std::vector<std::string> peaks_;  // complete subtrees, largest first
    std::int64_t size_ = 0;
};

// The hashes beside the way from leaf `index` up to the root of `leaves`, lowest first; `index` is
// one of them.
[[nodiscard]] std::vector<std::string> inclusion_path(
    const std::vector<std::string>& leaves, std::size_t index
);

// The root that `leaf` at `index` and `path` lead to in a tree of `size` leaves; empty when the
// path does not fit such a tree (RFC 9162, section 2.1.3.2).
[[nodiscard]] std::string root_of_path(
    std::string leaf, std::uint64_t index, std::uint64_t size, const std::vector<std::string>& path
);

}  // namespace compute::audit
