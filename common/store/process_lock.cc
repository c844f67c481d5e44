#include "store/process_lock.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/error.h"

namespace compute::store {
namespace {

class FileLock final : public ProcessLock {
public:
    explicit FileLock(int file) : file_(file) {}
    // The file stays: removing it would let a third process lock a new one while a second still
    // waits on the old.
    ~FileLock() override { ::close(file_); }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    int file_;
};

std::string read_holder(int file) {
    std::array<char, 32> text{};
    const ssize_t size = ::pread(file, text.data(), text.size() - 1, 0);
    std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    while (!holder.empty() && (holder.back() < '0' || holder.back() > '9')) {
        holder.pop_back();
    }
    return holder.empty() ? "an unknown process" : "process " + holder;
}

}  // namespace

std::unique_ptr<ProcessLock> acquire_process_lock(const std::string& path) {
    const std::string lock_path = path + ".lock";
    const int file = ::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) {
        throw invalid_config(
            "database.url: cannot open " + lock_path + ": " + std::strerror(errno),
            "check that this user may write to the file and its folder"
        );
    }
    auto lock = std::make_unique<FileLock>(file);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            throw invalid_config(
                "database.url: cannot lock " + lock_path + ": " + std::strerror(errno)
            );
        }
        throw ComputeError(
            ErrorCode::InvalidState,
            "database: " + path + " is in use by " + read_holder(file),
            ErrorExtra{
                .details = nullptr,
                .log_detail = {},
                .hint = "stop that process first, or use PostgreSQL for more than one"}
        );
    }
    // If the process dies here, the next holder overwrites what is left: the lock is the flock, the
    // id only names it.
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file, 0) != 0 ||
        ::pwrite(file, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
        throw invalid_config(
            "database.url: cannot write " + lock_path + ": " + std::strerror(errno)
        );
    }
    return lock;
}

}  // namespace compute::store
