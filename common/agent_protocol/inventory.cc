#include "agent_protocol/inventory.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "crypto/crypto.h"

namespace compute::agent_protocol {
namespace {

constexpr std::int64_t kMaxCpuMilli = 1'024'000;
constexpr std::int64_t kMaxMemoryMib = 67'108'864;    // 64 TiB
constexpr std::int64_t kMaxGpuMemoryMib = 4'194'304;  // 4 TiB
constexpr std::int64_t kMaxNuma = 1023;
constexpr std::int64_t kMaxIndex = 63;

Gpu decode_gpu(const Json& value) {
    Gpu gpu;
    gpu.uuid = value.at("uuid").get<std::string>();
    gpu.index = value.at("index").get<std::int64_t>();
    gpu.model = value.at("model").get<std::string>();
    gpu.memory_mib = value.at("memoryMib").get<std::int64_t>();
    gpu.pci_bus_id = value.at("pciBusId").get<std::string>();
    if (const auto numa = value.find("numa"); numa != value.end()) {
        gpu.numa = numa->get<std::int64_t>();
    }
    if (const auto link = value.find("link"); link != value.end()) {
        gpu.link = link->get<std::string>();
    }
    return gpu;
}

}  // namespace

schema::Shape gpus_shape() {
    return schema::array(
        schema::object({
            {"uuid",
             schema::string({.pattern = "^[A-Za-z0-9._:/-]{1,96}$", .max_length = 96}),
             true,
             ""},
            {"index", schema::integer({.min = 0, .max = kMaxIndex}), true, ""},
            {"model",
             schema::string({.pattern = "^[A-Za-z0-9][A-Za-z0-9 ()./_+-]{0,95}$", .max_length = 96}
             ),
             true,
             ""},
            {"memoryMib", schema::integer({.min = 0, .max = kMaxGpuMemoryMib}), true, ""},
            {"pciBusId",
             schema::string({.pattern = "^[0-9A-Fa-f:.]{0,32}$", .max_length = 32}),
             true,
             ""},
            {"numa", schema::integer({.min = 0, .max = kMaxNuma}), false, ""},
            {"link", schema::one_of({"nvlink", "pcie"}), false, ""},
        }),
        {.min_items = 0, .max_items = kMaxGpus, .unique = false}
    );
}

schema::Shape inventory_shape() {
    return schema::object({
        {"cpuMilli", schema::integer({.min = 1, .max = kMaxCpuMilli}), true, ""},
        {"memoryMib", schema::integer({.min = 1, .max = kMaxMemoryMib}), true, ""},
        {"gpus", gpus_shape(), true, ""},
        {"driver",
         schema::string({.pattern = "^[A-Za-z0-9._-]{1,64}$", .max_length = 64}),
         false,
         ""},
    });
}

std::vector<Gpu> decode_gpus(const Json& value) {
    std::vector<Gpu> gpus;
    gpus.reserve(value.size());
    for (const Json& item : value) {
        gpus.push_back(decode_gpu(item));
    }
    return gpus;
}

Inventory Inventory::decode(const Json& value) {
    Inventory inventory;
    inventory.cpu_milli = value.at("cpuMilli").get<std::int64_t>();
    inventory.memory_mib = value.at("memoryMib").get<std::int64_t>();
    inventory.gpus = decode_gpus(value.at("gpus"));
    if (const auto driver = value.find("driver"); driver != value.end()) {
        inventory.driver = driver->get<std::string>();
    }
    return inventory;
}

Json gpus_json(const std::vector<Gpu>& gpus) {
    Json list = Json::array();
    for (const Gpu& gpu : gpus) {
        Json item{
            {"uuid", gpu.uuid},
            {"index", gpu.index},
            {"model", gpu.model},
            {"memoryMib", gpu.memory_mib},
            {"pciBusId", gpu.pci_bus_id}};
        if (gpu.numa) {
            item["numa"] = *gpu.numa;
        }
        if (gpu.link) {
            item["link"] = *gpu.link;
        }
        list.push_back(std::move(item));
    }
    return list;
}

Json Inventory::json() const {
    Json json{{"cpuMilli", cpu_milli}, {"memoryMib", memory_mib}, {"gpus", gpus_json(gpus)}};
    if (driver) {
        json["driver"] = *driver;
    }
    return json;
}

void check_gpus(const std::vector<Gpu>& gpus) {
    std::set<std::string> uuids;
    std::set<std::int64_t> indexes;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const std::string field = "gpus[" + std::to_string(i) + "].";
        if (!uuids.insert(gpus[i].uuid).second) {
            throw invalid_input(field + "uuid: is given twice");
        }
        if (!indexes.insert(gpus[i].index).second) {
            throw invalid_input(field + "index: is given twice");
        }
    }
}

std::string inventory_hash(const std::vector<Gpu>& gpus) {
    std::vector<Gpu> sorted = gpus;
    std::sort(sorted.begin(), sorted.end(), [](const Gpu& a, const Gpu& b) {
        return a.uuid < b.uuid;
    });
    return crypto::to_hex(crypto::sha256(canonical_json(gpus_json(sorted))));
}

}  // namespace compute::agent_protocol
