#include "audit/merkle.h"

#include <gtest/gtest.h>

#include "crypto/crypto.h"

namespace compute::audit {
namespace {

// The leaves and roots that implementations of RFC 6962 test with.
const std::vector<std::string> kLeaves = {
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f"};
const std::vector<std::string> kRoots = {
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

std::vector<std::string> leaves_of(std::size_t count) {
    std::vector<std::string> hashes;
    for (std::size_t i = 0; i < count; ++i) {
        hashes.push_back(leaf_hash("leaf " + std::to_string(i)));
    }
    return hashes;
}

std::string root_of(const std::vector<std::string>& leaves) {
    GrowingTree tree;
    for (const std::string& leaf : leaves) {
        tree.add(leaf);
    }
    return tree.root();
}

TEST(Merkle, GivesTheKnownRoots) {
    GrowingTree tree;
    for (std::size_t i = 0; i < kLeaves.size(); ++i) {
        tree.add(leaf_hash(crypto::from_hex(kLeaves[i]).value()));

        EXPECT_EQ(crypto::to_hex(tree.root()), kRoots[i]) << i + 1 << " leaves";
    }
}

TEST(Merkle, ATreeOfNothingIsTheHashOfNothing) {
    EXPECT_EQ(GrowingTree().root(), crypto::sha256(""));
}

TEST(Merkle, EveryPathLeadsToTheRoot) {
    for (std::size_t size = 1; size <= 70; ++size) {
        const auto leaves = leaves_of(size);
        const std::string root = root_of(leaves);
        for (std::size_t index = 0; index < size; ++index) {
            EXPECT_EQ(root_of_path(leaves[index], index, size, inclusion_path(leaves, index)), root)
                << index << " of " << size;
        }
    }
}

TEST(Merkle, APathFitsOneLeafAtOnePlaceInOneTree) {
    const auto leaves = leaves_of(13);
    const std::string root = root_of(leaves);
    const auto path = inclusion_path(leaves, 6);
    auto shorter = path;
    shorter.pop_back();
    auto longer = path;
    longer.push_back(leaves[0]);
    auto turned = path;
    std::swap(turned[0], turned[1]);

    EXPECT_NE(root_of_path(leaves[7], 6, 13, path), root);
    EXPECT_NE(root_of_path(leaves[6], 7, 13, path), root);
    EXPECT_NE(root_of_path(leaves[6], 6, 13, turned), root);
    EXPECT_EQ(root_of_path(leaves[6], 6, 13, shorter), "");
    EXPECT_EQ(root_of_path(leaves[6], 6, 13, longer), "");
    EXPECT_EQ(root_of_path(leaves[6], 6, 6, path), "");
    EXPECT_EQ(root_of_path(leaves[6], 13, 13, path), "");
}

TEST(Merkle, ANodeNeverPassesForALeaf) {
    const std::string left = leaf_hash("a");
    const std::string right = leaf_hash("b");

    EXPECT_NE(leaf_hash(left + right), node_hash(left, right));
}

}  // namespace
}  // namespace compute::audit
