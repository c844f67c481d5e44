#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crypto/crypto.h"

namespace compute::crypto {
namespace {

std::string random_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    system_rng().fill(bytes.data(), bytes.size());
    return bytes;
}

TEST(SystemRng, NeverGivesTheSameBytesTwice) {
    std::set<std::string> seen;
    std::size_t drawn = 0;
    for (const std::size_t size : {10, 12, 32, 63, 64, 65, 500}) {
        for (int i = 0; i < 300; ++i, ++drawn) {
            seen.insert(random_bytes(size));
        }
    }

    EXPECT_EQ(seen.size(), drawn);
}

TEST(SystemRng, GivesEachThreadItsOwn) {
    std::vector<std::string> drawn(4);
    std::vector<std::thread> threads;
    for (std::string& own : drawn) {
        threads.emplace_back([&own] { own = random_bytes(32); });
    }
    for (auto& thread : threads) {
        thread.join();
    }

    EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), drawn.size());
}

TEST(SystemRng, GivesAForkedChildOthersThanItsParent) {
    (void)random_bytes(16);
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);

    const pid_t child = ::fork();
    if (child == 0) {
        const std::string bytes = random_bytes(32);
        ::_exit(::write(ends[1], bytes.data(), bytes.size()) == 32 ? 0 : 1);
    }
    std::string of_child(32, '\0');
    ASSERT_EQ(::read(ends[0], of_child.data(), of_child.size()), 32);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(ends[0]);
    ::close(ends[1]);

    EXPECT_EQ(status, 0);
    EXPECT_NE(random_bytes(32), of_child);
}

}  // namespace
}  // namespace compute::crypto
