#include "store/backup.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/errors.h"

namespace compute::store {

namespace {

constexpr int kBusyMs = 5000;

using Handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Handle open_handle(const std::string& path, int flags) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
    Handle handle(raw, &sqlite3_close);
    if (code != SQLITE_OK) {
        throw StoreBusy("opening " + path + ": " + sqlite3_errstr(code));
    }
    sqlite3_busy_timeout(handle.get(), kBusyMs);
    return handle;
}

// One step for all pages: it reads in one transaction, so the copy is of one moment whatever is
// written meanwhile.
void copy(sqlite3* from, sqlite3* to) {
    sqlite3_backup* backup = sqlite3_backup_init(to, "main", from, "main");
    if (backup == nullptr) {
        throw StoreBusy(std::string("backup: ") + sqlite3_errmsg(to));
    }
    sqlite3_backup_step(backup, -1);
    const int code = sqlite3_backup_finish(backup);
    if (code != SQLITE_OK) {
        throw StoreBusy(std::string("backup: ") + sqlite3_errstr(code));
    }
}

[[noreturn]] void refuse(const std::string& path, int error) {
    throw ComputeError(
        ErrorCode::InvalidState,
        path + ": cannot be written: " + std::generic_category().message(error)
    );
}

// Removes the draft however the copy ends.
class Draft {
public:
    explicit Draft(std::string path) : path_(std::move(path)) {
        const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) {
            refuse(path_, errno);
        }
        ::close(fd);
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft() { ::unlink(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

void sync(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_synced = fd >= 0 && ::fsync(fd) == 0;
    const int error = errno;
    if (fd >= 0) {
        ::close(fd);
    }
    if (!is_synced) {
        refuse(path, error);
    }
}

}  // namespace

std::uintmax_t backup_sqlite(const std::string& from, const std::string& to) {
    std::error_code error;
    if (std::filesystem::exists(to, error)) {
        throw ComputeError(
            ErrorCode::InvalidState,
            to + ": is there already",
            ErrorExtra{nullptr, "", "name a new file"}
        );
    }
    const Draft draft(to + "." + std::to_string(::getpid()) + ".part");
    {
        const Handle source = open_handle(from, SQLITE_OPEN_READONLY);
        const Handle target = open_handle(draft.path(), SQLITE_OPEN_READWRITE);
        copy(source.get(), target.get());
    }
    sync(draft.path());
    // link, not rename: it never replaces a file that came to be in the meantime.
    if (::link(draft.path().c_str(), to.c_str()) != 0) {
        refuse(to, errno);
    }
    const std::filesystem::path folder = std::filesystem::path(to).parent_path();
    sync(folder.empty() ? "." : folder.string());
    return std::filesystem::file_size(to);
}

}  // namespace compute::store
