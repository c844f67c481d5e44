// The fuzz targets for a moment: their seeds, and bytes a few changes away from them.
#include "tests/fuzz/targets.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace compute::fuzz {
namespace {

constexpr int kRounds = 4'000;

std::string changed(std::string bytes, const std::string& other, std::mt19937_64& random) {
    const auto below = [&](std::size_t bound) {
        return static_cast<std::size_t>(random() % bound);
    };
    for (std::size_t i = 1 + below(4); i > 0; --i) {
        const std::size_t place = below(bytes.size() + 1);
        switch (below(5)) {
            case 0:
                bytes.insert(place, 1, static_cast<char>(random()));
                break;
            case 1:
                bytes.erase(place, below(6));
                break;
            case 2:
                if (place < bytes.size()) {
                    bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
                }
                break;
            case 3:
                bytes.insert(place, bytes.substr(0, below(30)));
                break;
            default:
                bytes.insert(place, other.substr(below(other.size()), below(20)));
        }
    }
    return bytes;
}

class Targets : public testing::TestWithParam<Target> {};
INSTANTIATE_TEST_SUITE_P(All, Targets, testing::ValuesIn(targets()), [](const auto& one) {
    return std::string(one.param.name);
});

TEST_P(Targets, KeepsItsPromises) {
    const Target& target = GetParam();
    std::mt19937_64 random(11);
    for (const std::string& seed : target.seeds) {
        target.run(seed);
    }
    target.run("");
    for (int round = 0; round < kRounds; ++round) {
        const auto& seeds = target.seeds;
        target.run(changed(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random));
    }
}

}  // namespace
}  // namespace compute::fuzz
