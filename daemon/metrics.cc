#include "daemon/metrics.h"

#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "method/outcomes.h"

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
    static constexpr std::pair<store::Purpose, const char*> kPurposes[] = {
        {store::Purpose::Call, "call"},
        {store::Purpose::Iam, "iam"},
        {store::Purpose::Background, "background"}};
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

void add_modules(Families& families, Compute& compute) {
    for (const method::Module& module : compute.modules()) {
        for (const method::Gauge& gauge : module.gauges) {
            try {
                MetricFamily family{gauge.name, gauge.help, MetricType::Gauge, {}};
                for (const auto& [labels, value] : gauge.collect(compute.runtime())) {
                    family.metric.push_back(
                        sample(MetricType::Gauge, value, Labels(labels.begin(), labels.end()))
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
    add_modules(families, compute);
    return families.text();
}

}  // namespace compute::daemon
