#include "agent/kernel_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

namespace compute::agent {
namespace {

constexpr std::size_t kMaxRecord = 8192;  // of the kernel's
constexpr int kMaxRecords = 4096;         // at one look

}  // namespace

std::optional<Xid> find_xid(std::string_view line) {
    constexpr std::string_view kMark = "NVRM: Xid (PCI:";
    const std::size_t mark = line.find(kMark);
    if (mark == std::string_view::npos) {
        return std::nullopt;
    }
    line.remove_prefix(mark + kMark.size());
    constexpr std::string_view kEnd = "): ";
    const std::size_t end = line.find(kEnd);
    if (end == std::string_view::npos || end == 0) {
        return std::nullopt;
    }
    Xid xid;
    for (const char c : line.substr(0, end)) {
        xid.bus_id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const std::string_view number = line.substr(end + kEnd.size());
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), xid.number);
    return parsed.ec == std::errc() && xid.number > 0 ? std::optional(xid) : std::nullopt;
}

std::optional<agent_protocol::GpuEvent> event_of(
    const Xid& xid, const std::vector<agent_protocol::Gpu>& gpus
) {
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const auto& one) {
        return one.pci_bus_id.starts_with(xid.bus_id);
    });
    if (gpu == gpus.end()) {
        return std::nullopt;
    }
    return agent_protocol::GpuEvent{gpu->uuid, "xid", xid.number};
}

KernelLog::KernelLog() : fd_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (fd_ >= 0) {
        ::lseek(fd_, 0, SEEK_END);
    }
}

KernelLog::~KernelLog() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

std::vector<Xid> KernelLog::read() {
    std::vector<Xid> found;
    std::array<char, kMaxRecord> record{};
    for (int i = 0; fd_ >= 0 && i < kMaxRecords; ++i) {
        const ssize_t count = ::read(fd_, record.data(), record.size());
        if (count < 0 && errno == EPIPE) {
            continue;  // records were overwritten before they were read: the next one follows
        }
        if (count <= 0) {
            break;
        }
        if (auto xid = find_xid({record.data(), static_cast<std::size_t>(count)})) {
            found.push_back(*std::move(xid));
        }
    }
    return found;
}

}  // namespace compute::agent
