// A folder that goes away with the test. In memory when the machine has a roomy /dev/shm: tests
// then do not wait for a disk.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace compute::support {

class TempFolder {
public:
    TempFolder() {
        const char* chosen =
            std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
        path_ = std::string(chosen != nullptr ? chosen : default_base()) +
                "/better-compute-test.XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) {
            throw std::runtime_error("cannot make a folder like " + path_);
        }
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    static const char* default_base() {
        constexpr std::uintmax_t kRoomy = std::uintmax_t{1} << 30;
        std::error_code ignored;
        const auto space = std::filesystem::space("/dev/shm", ignored);
        return !ignored && space.available >= kRoomy && space.available != UINTMAX_MAX ? "/dev/shm"
                                                                                       : "/tmp";
    }

    std::string path_;
};

}  // namespace compute::support
