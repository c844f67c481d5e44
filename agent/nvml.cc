// NVIDIA's management library, loaded when it is there: no build depends on it. The few functions
// used are declared here after its public header (nvml.h); their ABI is stable by its versioned
// names.
#include <array>

#include <dlfcn.h>

#include "agent/gpu_source.h"

namespace compute::agent {
namespace {

using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kUuidBytes = 96;
constexpr unsigned kNameBytes = 96;
constexpr unsigned kVersionBytes = 80;

struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    char bus_id[32];
};

struct Functions {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*get_count)(unsigned*) = nullptr;
    int (*get_handle)(unsigned, Device*) = nullptr;
    int (*get_uuid)(Device, char*, unsigned) = nullptr;
    int (*get_name)(Device, char*, unsigned) = nullptr;
    int (*get_memory)(Device, Memory*) = nullptr;
    int (*get_pci)(Device, PciInfo*) = nullptr;
    int (*get_driver)(char*, unsigned) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
    // The one way from a symbol to a function that POSIX gives.
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

class Nvml final : public GpuSource {
public:
    Nvml(void* library, Functions functions) : library_(library), call_(functions) {}
    ~Nvml() override {
        call_.shutdown();
        ::dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    std::vector<agent_protocol::Gpu> read() override {
        unsigned count = 0;
        if (const int status = call_.get_count(&count); status != kSuccess) {
            throw ComputeError(
                ErrorCode::InvalidState, "NVML: counting GPUs fails with " + std::to_string(status)
            );
        }
        std::vector<agent_protocol::Gpu> gpus;
        for (unsigned index = 0; index < count; ++index) {
            if (auto gpu = find_gpu(index)) {
                gpus.push_back(*std::move(gpu));
            }
        }
        return gpus;
    }

    std::optional<std::string> driver() override {
        std::array<char, kVersionBytes> version{};
        return call_.get_driver(version.data(), version.size()) == kSuccess
                   ? std::optional<std::string>(version.data())
                   : std::nullopt;
    }

    [[nodiscard]] std::string_view name() const noexcept override { return "nvml"; }

private:
    // A GPU that has fallen off the bus fails here (NVML_ERROR_GPU_IS_LOST), its siblings do not.
    std::optional<agent_protocol::Gpu> find_gpu(unsigned index) {
        Device device = nullptr;
        std::array<char, kUuidBytes> uuid{};
        std::array<char, kNameBytes> name{};
        Memory memory{};
        PciInfo pci{};
        if (call_.get_handle(index, &device) != kSuccess ||
            call_.get_uuid(device, uuid.data(), uuid.size()) != kSuccess ||
            call_.get_name(device, name.data(), name.size()) != kSuccess ||
            call_.get_memory(device, &memory) != kSuccess ||
            call_.get_pci(device, &pci) != kSuccess) {
            return std::nullopt;
        }
        constexpr unsigned long long kMib = 1024ULL * 1024;
        agent_protocol::Gpu gpu;
        gpu.uuid = uuid.data();
        gpu.index = index;
        gpu.model = clean_model(name.data());
        gpu.memory_mib = static_cast<std::int64_t>(memory.total / kMib);
        gpu.pci_bus_id = clean_bus_id(pci.bus_id);
        gpu.numa = find_numa(gpu.pci_bus_id);
        return gpu;
    }

    void* library_;
    Functions call_;
};

}  // namespace

std::unique_ptr<GpuSource> open_nvml(const std::string& library) {
    void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return nullptr;
    }
    Functions call;
    const bool is_whole = find(handle, "nvmlInit_v2", call.init) &&
                          find(handle, "nvmlShutdown", call.shutdown) &&
                          find(handle, "nvmlDeviceGetCount_v2", call.get_count) &&
                          find(handle, "nvmlDeviceGetHandleByIndex_v2", call.get_handle) &&
                          find(handle, "nvmlDeviceGetUUID", call.get_uuid) &&
                          find(handle, "nvmlDeviceGetName", call.get_name) &&
                          find(handle, "nvmlDeviceGetMemoryInfo", call.get_memory) &&
                          find(handle, "nvmlDeviceGetPciInfo_v3", call.get_pci) &&
                          find(handle, "nvmlSystemGetDriverVersion", call.get_driver);
    if (!is_whole || call.init() != kSuccess) {
        ::dlclose(handle);
        return nullptr;
    }
    return std::make_unique<Nvml>(handle, call);
}

}  // namespace compute::agent
