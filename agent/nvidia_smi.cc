// The driver's own command, for machines where its library cannot be loaded.
#include <charconv>
#include <sstream>

#include "agent/gpu_source.h"
#include "agent/run_program.h"

namespace compute::agent {
namespace {

constexpr std::chrono::milliseconds kPatience{10'000};

enum Column : std::size_t { Index, Uuid, Name, MemoryMib, BusId, Driver, Columns };

std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
        const std::size_t first = cell.find_first_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first));
    }
    return cells;
}

std::optional<std::int64_t> find_number(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    return fault == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

class NvidiaSmi final : public GpuSource {
public:
    explicit NvidiaSmi(std::string program) : program_(std::move(program)) {}

    std::vector<agent_protocol::Gpu> read() override {
        const auto output = run_program(
            {program_,
             "--query-gpu=index,uuid,name,memory.total,pci.bus_id,driver_version",
             "--format=csv,noheader,nounits"},
            kPatience
        );
        if (!output) {
            throw ComputeError(ErrorCode::InvalidState, program_ + ": gives no answer");
        }
        std::vector<agent_protocol::Gpu> gpus;
        std::stringstream stream(*output);
        for (std::string line; std::getline(stream, line);) {
            const std::vector<std::string> cells = split(line);
            // A lost GPU has a line of another kind ("Unable to determine the device handle ...").
            const auto index = cells.size() == Columns ? find_number(cells[Index]) : std::nullopt;
            if (!index) {
                continue;
            }
            agent_protocol::Gpu gpu;
            gpu.uuid = cells[Uuid];
            gpu.index = *index;
            gpu.model = clean_model(cells[Name]);
            gpu.memory_mib = find_number(cells[MemoryMib]).value_or(0);
            gpu.pci_bus_id = clean_bus_id(cells[BusId]);
            gpu.numa = find_numa(gpu.pci_bus_id);
            driver_ = cells[Driver];
            gpus.push_back(std::move(gpu));
        }
        return gpus;
    }

    std::optional<std::string> driver() override { return driver_; }
    [[nodiscard]] std::string_view name() const noexcept override { return "nvidia-smi"; }

private:
    std::string program_;
    std::optional<std::string> driver_;
};

}  // namespace

std::unique_ptr<GpuSource> open_smi(const std::string& program) {
    auto source = std::make_unique<NvidiaSmi>(program);
    try {
        (void)source->read();
    } catch (const ComputeError&) {
        return nullptr;  // not there, or without a driver behind it: the next source is asked
    }
    return source;
}

}  // namespace compute::agent
