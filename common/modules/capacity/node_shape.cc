#include "modules/capacity/node_shape.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace compute::capacity {
namespace {

constexpr store::Sql kSelect(
    "select gpu_model, gpu_count, cpu_milli, memory_mib, fabric, group_index from expected_nodes "
    "where tenant_id = $1 and pool_id = $2 and name = $3"
);
constexpr store::Sql kHasAny(
    "select exists (select 1 from expected_nodes where tenant_id = $1 and pool_id = $2)",
    "select case when exists (select 1 from expected_nodes where tenant_id = $1 and pool_id = $2) "
    "then 1 else 0 end"
);
constexpr store::Sql kSetJoined(
    "update expected_nodes set node_id = $4 where tenant_id = $1 and pool_id = $2 and name = $3"
);
constexpr store::Sql kForgetJoined(
    "update expected_nodes set node_id = null where tenant_id = $1 and node_id = $2"
);

constexpr std::int64_t kMemoryTolerance = 10;  // one part in ten

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') {
            words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    if (words.back().empty()) {
        words.pop_back();
    }
    return words;
}

std::string line(const char* field, std::int64_t declared, std::int64_t found) {
    return std::string(field) + ": declared " + std::to_string(declared) + ", found " +
           std::to_string(found);
}

}  // namespace

std::optional<DeclaredShape> find_declared(
    store::Transaction& tx, const TenantId& tenant, const PoolId& pool, const std::string& name
) {
    const auto row = tx.find_row(kSelect, {tenant, pool, name});
    if (!row) {
        return std::nullopt;
    }
    return DeclaredShape{
        row->get_text(0),
        row->get_int(1),
        row->get_int(2),
        row->get_int(3),
        row->find_text(4),
        row->get_int(5)};
}

bool has_declared(store::Transaction& tx, const TenantId& tenant, const PoolId& pool) {
    return tx.get_row(kHasAny, {tenant, pool}).get_bool(0);
}

void set_joined(
    store::Transaction& tx,
    const TenantId& tenant,
    const PoolId& pool,
    const std::string& name,
    const std::string& node_id
) {
    tx.defer(kSetJoined, {tenant, pool, name, node_id});
}

void forget_joined(store::Transaction& tx, const TenantId& tenant, const std::string& node_id) {
    tx.defer(kForgetJoined, {tenant, node_id});
}

bool is_model(const std::string& declared, const std::string& found) {
    const std::vector<std::string> wanted = words_of(declared);
    const std::vector<std::string> there = words_of(found);
    return std::search(there.begin(), there.end(), wanted.begin(), wanted.end()) != there.end();
}

std::vector<std::string> differences(
    const DeclaredShape& declared, const agent_protocol::Inventory& found, GpuCount count
) {
    std::vector<std::string> lines;
    if (declared.cpu_milli != found.cpu_milli) {
        lines.push_back(line("cpuMilli", declared.cpu_milli, found.cpu_milli));
    }
    const std::int64_t slack = declared.memory_mib / kMemoryTolerance;
    if (found.memory_mib < declared.memory_mib - slack ||
        found.memory_mib > declared.memory_mib + slack) {
        lines.push_back(line("memoryMib", declared.memory_mib, found.memory_mib));
    }
    const auto gpus = static_cast<std::int64_t>(found.gpus.size());
    if (count == GpuCount::Exact ? gpus != declared.gpu_count : gpus > declared.gpu_count) {
        lines.push_back(line("gpuCount", declared.gpu_count, gpus));
    }
    std::set<std::string> told;
    for (const agent_protocol::Gpu& gpu : found.gpus) {
        if (!is_model(declared.gpu_model, gpu.model) && told.insert(gpu.model).second) {
            lines.push_back("gpuModel: declared " + declared.gpu_model + ", found " + gpu.model);
        }
    }
    return lines;
}

}  // namespace compute::capacity
