#include "agent/gpu_source.h"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "crypto/crypto.h"

namespace compute::agent {
namespace {

constexpr std::size_t kMaxModel = 96;
constexpr std::int64_t kFakeMemoryMib = 81'920;

}  // namespace

std::unique_ptr<GpuSource> find_gpu_source(const SourcePlaces& places) {
    if (auto nvml = open_nvml(places.nvml)) {
        return nvml;
    }
    if (auto smi = open_smi(places.smi)) {
        return smi;
    }
    return open_proc(places.proc);
}

std::string clean_model(std::string_view name) {
    constexpr std::string_view kAllowed = " ()./_+-";
    std::string model;
    for (const char c : name) {
        const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (is_word || (!model.empty() && kAllowed.find(c) != std::string_view::npos)) {
            model += c;
        } else if (!model.empty()) {
            model += '-';
        }
    }
    model.resize(std::min(model.size(), kMaxModel));
    while (!model.empty() && (model.back() == ' ' || model.back() == '-')) {
        model.pop_back();
    }
    return model.empty() ? "unknown" : model;
}

std::string clean_bus_id(std::string_view bus_id) {
    std::string id;
    for (const char c : bus_id) {
        id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    constexpr std::size_t kDomain = 4;
    const std::size_t colon = id.find(':');
    if (colon != std::string::npos && colon > kDomain &&
        id.find_first_not_of('0') >= colon - kDomain) {
        id.erase(0, colon - kDomain);
    }
    return id;
}

std::optional<std::int64_t> find_numa(const std::string& bus_id) {
    if (bus_id.empty() || bus_id.find_first_not_of("0123456789abcdef:.") != std::string::npos) {
        return std::nullopt;
    }
    std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
    std::int64_t node = -1;
    return file >> node && node >= 0 ? std::optional(node) : std::nullopt;
}

std::vector<agent_protocol::Gpu> fake_gpus(
    std::int64_t count, const std::string& model, const std::string& seed
) {
    constexpr std::size_t kDigits = 32;
    std::vector<agent_protocol::Gpu> gpus;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string text = seed + "/" + std::to_string(i);
        agent_protocol::Gpu gpu;
        gpu.uuid = "GPU-" + crypto::to_hex(crypto::sha256(text)).substr(0, kDigits);
        gpu.index = i;
        gpu.model = model;
        gpu.memory_mib = kFakeMemoryMib;
        constexpr std::string_view kHex = "0123456789abcdef";
        gpu.pci_bus_id = std::string("0000:") + kHex[static_cast<std::size_t>(i) / 16 % 16] +
                         kHex[static_cast<std::size_t>(i) % 16] + ":00.0";
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

}  // namespace compute::agent
