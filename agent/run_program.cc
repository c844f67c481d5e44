#include "agent/run_program.h"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT: POSIX gives no other name for it

namespace compute::agent {
namespace {

constexpr std::size_t kMaxOutput = 1024 * 1024;

using Steady = std::chrono::steady_clock;

// False when it did not end in time or printed too much.
bool read_all(int fd, std::string& out, Steady::time_point end) {
    std::array<char, 4096> bytes{};
    while (true) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now());
        pollfd watched{fd, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) <= 0) {
            return false;
        }
        const ssize_t count = ::read(fd, bytes.data(), bytes.size());
        if (count <= 0) {
            return count == 0;
        }
        out.append(bytes.data(), static_cast<std::size_t>(count));
        if (out.size() > kMaxOutput) {
            return false;
        }
    }
}

}  // namespace

std::optional<std::string> run_program(
    const std::vector<std::string>& command, std::chrono::milliseconds patience
) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return std::nullopt;
    }
    std::vector<char*> arguments;
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));  // not written to
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int fault =
        ::posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    std::string out;
    const bool is_whole = fault == 0 && read_all(pipe[0], out, Steady::now() + patience);
    ::close(pipe[0]);
    if (fault != 0) {
        return std::nullopt;
    }
    if (!is_whole) {
        ::kill(child, SIGKILL);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(out)
                                                                     : std::nullopt;
}

}  // namespace compute::agent
