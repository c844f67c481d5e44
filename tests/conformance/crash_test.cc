// A process that is killed in the middle of commits loses nothing that it was told is done.
#include <array>
#include <csignal>
#include <set>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"

namespace compute::conformance {
namespace {

// Runs the child until it has reported `enough` rows, kills it, and returns all that it reported.
std::vector<std::int64_t> run_until_killed(const std::string& url, std::size_t enough) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(pipe[1], STDOUT_FILENO);
        ::close(pipe[0]);
        ::close(pipe[1]);
        ::execl(STORE_CRASH_CHILD, STORE_CRASH_CHILD, url.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(pipe[1]);
    std::string output;
    std::array<char, 4096> buffer{};
    std::size_t lines = 0;
    bool is_killed = false;
    for (ssize_t size = 0; (size = ::read(pipe[0], buffer.data(), buffer.size())) > 0;) {
        const std::string_view part(buffer.data(), static_cast<std::size_t>(size));
        output += part;
        lines += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
        if (lines >= enough && !is_killed) {
            is_killed = true;
            ::kill(child, SIGKILL);
        }
    }
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
    std::vector<std::int64_t> ids;
    std::istringstream text(output);
    for (std::int64_t id = 0; text >> id;) {
        ids.push_back(id);
    }
    return ids;
}

class Crash : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, Crash, support::both_engines(), support::engine_name);

TEST_P(Crash, LosesNothingThatWasAnswered) {
    std::set<std::int64_t> answered;
    for (int round = 0; round < 3; ++round) {
        data().close();
        const auto ids = run_until_killed(data().url(), 300);
        answered.insert(ids.begin(), ids.end());

        std::set<std::int64_t> kept;
        for (const auto& row : db().query("select id from items")) {
            kept.insert(row.get_int(0));
        }
        EXPECT_GE(ids.size(), 300U);
        EXPECT_TRUE(std::includes(kept.begin(), kept.end(), answered.begin(), answered.end()));
    }
}

}  // namespace
}  // namespace compute::conformance
