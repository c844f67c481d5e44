#include "doctor/disk.h"

namespace compute::doctor {

namespace {

constexpr const char* kId = "core.disk";

std::string in_mebibytes(std::uintmax_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

std::vector<method::Finding> judge_disk(const Disk& disk) {
    std::vector<method::Finding> findings;
    if (disk.free_bytes < kMinFreeBytes && disk.free_bytes < disk.all_bytes / 10) {
        findings.push_back(
            {kId,
             method::Severity::Warning,
             in_mebibytes(disk.free_bytes) + " are free in " + disk.folder,
             "make room, or move the database",
             {},
             {}}
        );
    }
    if (disk.wal_bytes > kMaxWalBytes) {
        findings.push_back(
            {kId,
             method::Severity::Warning,
             "the write-ahead log has grown to " + in_mebibytes(disk.wal_bytes),
             "end what reads the database for a long time; the log shrinks at the next checkpoint",
             {},
             {}}
        );
    }
    return findings;
}

}  // namespace compute::doctor
