// A folder that goes away with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace compute::support {

class TempFolder {
public:
    TempFolder() {
        const char* base = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
        path_ = std::string(base != nullptr ? base : "/tmp") + "/better-compute-test.XXXXXX";
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
    std::string path_;
};

}  // namespace compute::support
