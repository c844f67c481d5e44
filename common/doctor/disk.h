// What core.disk says about the place where an embedded database lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "method/module.h"

namespace compute::doctor {

inline constexpr std::uintmax_t kMinFreeBytes = 1ULL << 30;
inline constexpr std::uintmax_t kMaxWalBytes = 256ULL << 20;

struct Disk {
    std::string folder;
    std::uintmax_t free_bytes = 0;
    std::uintmax_t all_bytes = 0;
    std::uintmax_t wal_bytes = 0;
};

// Less room than kMinFreeBytes and than a tenth of the whole; a write-ahead log over kMaxWalBytes.
[[nodiscard]] std::vector<method::Finding> judge_disk(const Disk& disk);

}  // namespace compute::doctor
