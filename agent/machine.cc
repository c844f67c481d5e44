#include "agent/machine.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "crypto/crypto.h"

namespace compute::agent {
namespace {

constexpr std::int64_t kMilliPerCpu = 1000;
constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxFile = 4096;

std::optional<std::string> find_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) {
        return std::nullopt;
    }
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
        line.pop_back();
    }
    return line.empty() || line.size() > kMaxFile ? std::nullopt : std::optional(line);
}

ComputeError file_fault(const std::string& path, const char* what) {
    return invalid_config(
        path + ": cannot be " + what + ": " + std::generic_category().message(errno)
    );
}

// The name is moved over when the bytes are on disk: after a crash there is the old file or the
// new.
void write_private_file(const std::string& path, const std::string& text) {
    const std::string draft = path + ".new";
    const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        throw file_fault(draft, "written");
    }
    const bool is_written =
        ::fchmod(fd, 0600) == 0 &&
        ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(fd) == 0;
    ::close(fd);
    if (!is_written || ::rename(draft.c_str(), path.c_str()) != 0) {
        throw file_fault(path, "written");
    }
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int folder_fd =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd >= 0) {
        ::fsync(folder_fd);
        ::close(folder_fd);
    }
}

}  // namespace

std::int64_t machine_cpu_milli() {
    return std::max<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1) * kMilliPerCpu;
}

std::int64_t machine_memory_mib() {
    constexpr std::int64_t kKibPerMib = 1024;
    std::ifstream file("/proc/meminfo");
    std::string word;
    for (std::int64_t kib = 0; file >> word;) {
        if (word == "MemTotal:" && file >> kib) {
            return std::max<std::int64_t>(kib / kKibPerMib, 1);
        }
    }
    return 1;
}

agent_protocol::Abilities machine_abilities() {
    agent_protocol::Abilities can;
    std::error_code ignored;
    if (std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers", ignored)) {
        can.cgroup = "v2";
    } else if (std::filesystem::exists("/sys/fs/cgroup/memory", ignored)) {
        can.cgroup = "v1";
    }
    can.has_pty = std::filesystem::exists("/dev/ptmx", ignored);
    return can;
}

std::string boot_id() {
    return find_line("/proc/sys/kernel/random/boot_id").value_or("unknown");
}

std::string machine_id(const std::string& data, Rng& rng) {
    if (auto id = find_line("/etc/machine-id")) {
        return *id;
    }
    const std::string path = data + "/machine-id";
    if (auto id = find_line(path)) {
        return *id;
    }
    std::array<char, 16> random{};
    rng.fill(random.data(), random.size());
    std::string id = crypto::to_hex({random.data(), random.size()});
    write_private_file(path, id + "\n");
    return id;
}

std::string host_node_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::string name;
    for (const char c : std::string(host.data())) {
        if (c == '.') {
            break;
        }
        const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const bool is_letter = lower >= 'a' && lower <= 'z';
        if (name.empty() && !is_letter) {
            name = "n";
        }
        const bool is_allowed = is_letter || (lower >= '0' && lower <= '9');
        name += is_allowed ? lower : '-';
    }
    name.resize(std::min(name.size(), kMaxName));
    return name.empty() ? "node" : name;
}

std::optional<StoredCredential> read_credential(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        if (errno == ENOENT) {
            return std::nullopt;
        }
        throw file_fault(path, "read");
    }
    std::string text(kMaxFile, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("nodeId") || !json.at("nodeId").is_string() ||
        !json.contains("credential") || !json.at("credential").is_string()) {
        throw invalid_config(path + ": is no credential of a node");
    }
    return StoredCredential{
        json.at("nodeId").get<std::string>(),
        crypto::Secret(json.at("credential").get<std::string>())};
}

void write_credential(const std::string& path, const StoredCredential& credential) {
    write_private_file(
        path,
        dump_json(
            {{"nodeId", credential.node_id},
             {"credential", std::string(credential.credential.reveal())}}
        ) + "\n"
    );
}

crypto::Secret read_token(const std::string& path) {
    auto line = find_line(path);
    if (!line) {
        throw invalid_config(path + ": holds no token");
    }
    return crypto::Secret(*std::move(line));
}

}  // namespace compute::agent
