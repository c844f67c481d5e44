#include "daemon/metrics.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "config/checks.h"
#include "core/latency.h"
#include "method/outcomes.h"
#include "store/load.h"

namespace compute::daemon {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kUsPerSecond = 1'000'000;

using Labels = std::vector<std::pair<std::string, std::string>>;

ClientMetric sample(MetricType type, double value, const Labels& labels) {
    ClientMetric metric;
    for (const auto& [name, text] : labels) {
        metric.label.push_back({name, text});
    }
    if (type == MetricType::Counter) {
        metric.counter.value = value;
    } else {
        metric.gauge.value = value;
    }
    return metric;
}

ClientMetric histogram(const LatencyHistogram::Snapshot& seen, const Labels& labels) {
    ClientMetric metric = sample(MetricType::Gauge, 0, labels);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < seen.buckets.size(); ++i) {
        below += seen.buckets[i];
        const bool is_last = i == LatencyHistogram::kBoundsUs.size();
        metric.histogram.bucket.push_back(
            {below,
             is_last ? std::numeric_limits<double>::infinity()
                     : static_cast<double>(LatencyHistogram::kBoundsUs[i]) / kUsPerSecond}
        );
    }
    metric.histogram.sample_count = below;
    metric.histogram.sample_sum = static_cast<double>(seen.total_us) / kUsPerSecond;
    return metric;
}

class Families {
public:
    MetricFamily& add(std::string name, std::string help, MetricType type) {
        return list_.emplace_back(MetricFamily{std::move(name), std::move(help), type, {}});
    }
    void single(std::string name, std::string help, MetricType type, double value) {
        add(std::move(name), std::move(help), type).metric.push_back(sample(type, value, {}));
    }
    [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(list_); }

private:
    std::vector<MetricFamily> list_;
};

void add_calls(Families& families, const method::Outcomes& outcomes) {
    MetricFamily& calls = families.add(
        "better_compute_calls_total",
        "Calls by method and result; an empty method is an unknown path.",
        MetricType::Counter
    );
    for (const method::OutcomeCount& count : outcomes.counts()) {
        calls.metric.push_back(sample(
            MetricType::Counter,
            static_cast<double>(count.count),
            {{"method", count.path}, {"code", count.code}}
        ));
    }
    MetricFamily& seconds =
        families.add("better_compute_call_seconds", "Time spent in calls.", MetricType::Summary);
    for (const method::DurationSum& duration : outcomes.durations()) {
        ClientMetric metric;
        metric.label.push_back({"method", duration.path});
        metric.summary.sample_count = duration.count;
        metric.summary.sample_sum = static_cast<double>(duration.total_us) / kUsPerSecond;
        seconds.metric.push_back(std::move(metric));
    }
    families
        .add(
            "better_compute_decision_seconds",
            "Time the IAM took to decide, cached decisions included.",
            MetricType::Histogram
        )
        .metric.push_back(histogram(outcomes.decisions().snapshot(), {}));
}

void add_server(Families& families, const http::ServerStats& stats) {
    const auto gauge = [&](std::string name, std::string help, std::size_t value) {
        families.single(
            "better_compute_http_" + name,
            std::move(help),
            MetricType::Gauge,
            static_cast<double>(value)
        );
    };
    const auto counter = [&](std::string name, std::string help, std::uint64_t value) {
        families.single(
            "better_compute_http_" + name,
            std::move(help),
            MetricType::Counter,
            static_cast<double>(value)
        );
    };
    gauge("connections", "Open connections.", stats.connections);
    gauge("workers", "Threads that serve requests.", stats.workers);
    gauge("workers_idle", "Of them, those without a request.", stats.idle_workers);
    gauge("waiting", "Calls that wait for work to finish.", stats.waiting);
    gauge("queued", "Requests that no worker has taken yet.", stats.queued);
    counter("accepted_total", "Connections accepted.", stats.accepted);
    counter("refused_total", "Connections closed at once because of a limit.", stats.refused);
    counter(
        "timed_out_total", "Connections dropped because the client was too slow.", stats.timed_out
    );
    counter("rejected_total", "Requests refused by a rule of the transport.", stats.rejected);
}

constexpr std::pair<store::Purpose, const char*> kPurposes[] = {
    {store::Purpose::Call, "call"},
    {store::Purpose::Iam, "iam"},
    {store::Purpose::Background, "background"}};

void add_database(Families& families, store::Database& database) {
    struct Row {
        const char* name;
        const char* help;
        std::uint64_t store::Counters::*member;
    };
    static constexpr Row kRows[] = {
        {"read_transactions", "Read transactions.", &store::Counters::read_transactions},
        {"write_transactions", "Write transactions.", &store::Counters::write_transactions},
        {"statements", "Statements run.", &store::Counters::statements},
        {"commits",
         "Commits of the engine; one may cover a group of transactions.",
         &store::Counters::commits},
        {"rollbacks", "Transactions rolled back.", &store::Counters::rollbacks},
        {"retries", "Transactions run again.", &store::Counters::retries},
    };
    for (const Row& row : kRows) {
        MetricFamily& family = families.add(
            "better_compute_database_" + std::string(row.name) + "_total",
            row.help,
            MetricType::Counter
        );
        for (const auto& [purpose, label] : kPurposes) {
            const store::Counters counters = database.counters(purpose);
            family.metric.push_back(sample(
                MetricType::Counter, static_cast<double>(counters.*row.member), {{"purpose", label}}
            ));
        }
    }
}

void add_load(Families& families, const store::Database& database) {
    const store::Measured* measured = store::find_measured(database);
    if (measured == nullptr) {
        return;
    }
    MetricFamily& seconds = families.add(
        "better_compute_database_transaction_seconds",
        "Time of a transaction, waiting for a connection and for the commit included.",
        MetricType::Histogram
    );
    for (const auto& [purpose, label] : kPurposes) {
        seconds.metric.push_back(
            histogram(measured->read_latency(purpose), {{"purpose", label}, {"kind", "read"}})
        );
        seconds.metric.push_back(
            histogram(measured->write_latency(purpose), {{"purpose", label}, {"kind", "write"}})
        );
    }
    const store::PoolUse pool = measured->pool_use();
    MetricFamily& connections = families.add(
        "better_compute_database_pool",
        "Database connections (SQLite: readers): allowed, open, and in use.",
        MetricType::Gauge
    );
    const std::pair<const char*, std::size_t> states[] = {
        {"size", pool.size}, {"open", pool.open}, {"in_use", pool.in_use}};
    for (const auto& [state, value] : states) {
        connections.metric.push_back(
            sample(MetricType::Gauge, static_cast<double>(value), {{"state", state}})
        );
    }
    families.single(
        "better_compute_database_queued_writes",
        "Write transactions that wait for SQLite's writer; always 0 on PostgreSQL.",
        MetricType::Gauge,
        static_cast<double>(measured->queued_writes())
    );
}

// Only an embedded database has files here; the server's log is for the server's own metrics.
void add_files(Families& families, const config::Config& config) {
    const auto file = config::find_database_file(config.database.url);
    if (!file) {
        return;
    }
    const std::pair<const char*, std::string> files[] = {
        {"database", *file}, {"wal", *file + "-wal"}};
    MetricFamily& bytes = families.add(
        "better_compute_database_file_bytes",
        "Size of the embedded database's files.",
        MetricType::Gauge
    );
    for (const auto& [label, path] : files) {
        std::error_code error;
        const std::uintmax_t size = std::filesystem::file_size(path, error);
        bytes.metric.push_back(
            sample(MetricType::Gauge, error ? 0 : static_cast<double>(size), {{"file", label}})
        );
    }
}

// A module's sample whose name ends in _total only grows.
MetricType type_of(const method::Gauge& gauge) {
    return gauge.name.ends_with("_total") ? MetricType::Counter : MetricType::Gauge;
}

void add_modules(Families& families, Compute& compute) {
    for (const method::Module& module : compute.modules()) {
        for (const method::Gauge& gauge : module.gauges) {
            try {
                MetricFamily family{gauge.name, gauge.help, type_of(gauge), {}};
                for (const auto& [labels, value] : gauge.collect(compute.runtime())) {
                    family.metric.push_back(
                        sample(family.type, value, Labels(labels.begin(), labels.end()))
                    );
                }
                families.add(family.name, family.help, family.type).metric =
                    std::move(family.metric);
            } catch (const std::exception& error) {
                compute.runtime().log.warning(
                    "metrics.gauge_failed", {{"gauge", gauge.name}, {"error", error.what()}}
                );
            }
        }
    }
}

}  // namespace

std::string metrics_text(Compute& compute, const std::function<http::ServerStats()>& server_stats) {
    Families families;
    add_calls(families, compute.outcomes());
    add_server(families, server_stats());
    add_database(families, compute.database());
    add_load(families, compute.database());
    add_files(families, compute.config());
    add_modules(families, compute);
    return families.text();
}

}  // namespace compute::daemon
