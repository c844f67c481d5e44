// What the kernel module shows of itself: the last resort, without the size of the memory.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "agent/gpu_source.h"

namespace compute::agent {
namespace {

std::string trim(const std::string& text) {
    constexpr const char* kSpace = " \t\r";
    const std::size_t first = text.find_first_not_of(kSpace);
    return first == std::string::npos
               ? ""
               : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::map<std::string, std::string> read_fields(const std::filesystem::path& path) {
    std::map<std::string, std::string> fields;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (const std::size_t colon = line.find(':'); colon != std::string::npos) {
            fields.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
        }
    }
    return fields;
}

class ProcGpus final : public GpuSource {
public:
    explicit ProcGpus(std::string folder) : folder_(std::move(folder)) {}

    std::vector<agent_protocol::Gpu> read() override {
        std::error_code fault;
        std::vector<agent_protocol::Gpu> gpus;
        for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/gpus", fault)) {
            auto fields = read_fields(entry.path() / "information");
            // A GPU that is lost has a UUID of question marks.
            const std::string uuid = fields["GPU UUID"];
            if (uuid.empty() || uuid.find('?') != std::string::npos) {
                continue;
            }
            agent_protocol::Gpu gpu;
            gpu.uuid = uuid;
            gpu.model = clean_model(fields["Model"]);
            gpu.pci_bus_id = clean_bus_id(entry.path().filename().string());
            gpu.numa = find_numa(gpu.pci_bus_id);
            const std::string& minor = fields["Device Minor"];
            std::from_chars(minor.data(), minor.data() + minor.size(), gpu.index);
            gpus.push_back(std::move(gpu));
        }
        if (fault) {
            throw ComputeError(
                ErrorCode::InvalidState, folder_ + "/gpus: cannot be read: " + fault.message()
            );
        }
        std::sort(gpus.begin(), gpus.end(), [](const auto& a, const auto& b) {
            return a.index < b.index;
        });
        return gpus;
    }

    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat ...": the first word that
    // begins with a digit and has a dot.
    std::optional<std::string> driver() override {
        std::ifstream file(folder_ + "/version");
        std::string line;
        std::getline(file, line);
        std::stringstream words(line);
        for (std::string word; words >> word;) {
            if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos) {
                return word;
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] std::string_view name() const noexcept override { return "proc"; }

private:
    std::string folder_;
};

}  // namespace

std::unique_ptr<GpuSource> open_proc(const std::string& folder) {
    std::error_code ignored;
    return std::filesystem::is_directory(folder + "/gpus", ignored)
               ? std::make_unique<ProcGpus>(folder)
               : nullptr;
}

}  // namespace compute::agent
