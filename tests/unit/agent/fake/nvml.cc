// Stands for libnvidia-ml.so.1: four GPUs, of which those whose index stands in the variable
// FAKE_NVML_LOST do not answer.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kLost = 15;  // NVML_ERROR_GPU_IS_LOST
constexpr unsigned kCount = 4;

bool is_lost(unsigned index) {
    const char* lost = std::getenv("FAKE_NVML_LOST");  // NOLINT(concurrency-mt-unsafe)
    return lost != nullptr && std::strchr(lost, static_cast<int>('0' + index)) != nullptr;
}

unsigned index_of(void* device) {
    return *static_cast<unsigned*>(device);
}

unsigned indexes[kCount] = {0, 1, 2, 3};

}  // namespace

extern "C" {

struct FakeMemory {
    unsigned long long total, free, used;
};
struct FakePci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

int nvmlInit_v2() {
    return kSuccess;
}
int nvmlShutdown() {
    return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = kCount;
    return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &indexes[index];
    return is_lost(index) ? kLost : kSuccess;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
    std::snprintf(uuid, size, "GPU-00000000-0000-0000-0000-00000000000%u", index_of(device));
    return kSuccess;
}
int nvmlDeviceGetName(void* /*device*/, char* name, unsigned size) {
    std::snprintf(name, size, "NVIDIA H100 80GB HBM3");
    return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void* /*device*/, FakeMemory* memory) {
    memory->total = 85'520'809'984ULL;
    return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, FakePci* pci) {
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:C%u:00.0", index_of(device));
    return kSuccess;
}
int nvmlSystemGetDriverVersion(char* version, unsigned size) {
    std::snprintf(version, size, "535.104.05");
    return kSuccess;
}

}  // extern "C"
