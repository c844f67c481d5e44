// A module: the unit of growth. One struct names all that it brings; the binary is a list of modules.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "method/context.h"
#include "method/definition.h"
#include "outbox/event.h"
#include "store/migrate.h"

namespace compute::method {

enum class MethodStatus { Served, Planned };

// A row of the method table: what a built-in method is decided on, frozen with the surface.
struct MethodRow {
    std::string action;
    std::string resource_type;  // without prefix
    struct Alternative {
        std::string action;
        std::string resource_type;
    };
    std::vector<Alternative> alternatives;
    bool is_list_per_item = false;  // decides its items one by one
    MethodStatus status = MethodStatus::Served;
    int phase = 1;
    // An input to try resource() with at the start, for a method whose validator refuses every sample of its schema.
    std::shared_ptr<const Json> probe = nullptr;
};

struct MethodEntry {
    std::string group;  // "pools"; lowerCamelCase
    std::string name;   // "create"
    MethodDefinition definition;
    std::optional<MethodRow> row;  // plugins have none
    [[nodiscard]] std::string path() const { return group + "/" + name; }
};

// A method that has a row but is not served yet.
struct PlannedMethod {
    std::string path;
    Kind kind = Kind::Read;
    MethodRow row;
};

// Work done again and again by a process with the controllers role. One run at a time per process.
struct Reconciler {
    std::string name;                     // "events.fanout"
    std::chrono::milliseconds interval;   // the safety net
    std::vector<std::string> wake_on;     // channels that run it at once
    // Returns when to run again if sooner than the interval (0 ms: at once), nullopt for the interval.
    std::function<std::optional<std::chrono::milliseconds>(const Runtime&)> run;
};

// A thread (or several) of its own, from start to stop; for work that is no tick.
class Worker {
public:
    virtual ~Worker() = default;
    // Takes no new work from now on; returns at once.
    virtual void begin_stop() = 0;
    // Returns when everything is handed back and the threads have ended; at most the delivery time-out + 1 s after begin_stop().
    virtual void finish_stop() = 0;
};

enum class Severity { Error, Warning, Info };

struct Finding {
    std::string check;
    Severity severity = Severity::Warning;
    std::string message;
    std::string fix;  // a command to run or a sentence
    std::optional<std::int64_t> count;
    std::shared_ptr<const Json> details;
};

// What a doctor check may look at. It changes nothing.
struct CheckContext {
    store::Database& database;
    const config::Config& config;
    Clock& clock;
    const std::vector<store::Migration>& migrations;
    const outbox::EventCatalog& catalog;
    bool is_deep = false;
    std::chrono::milliseconds budget{200};  // of this check, when not deep
};

struct Check {
    std::string id;  // "events.webhook-backlog"
    std::function<std::vector<Finding>(CheckContext&)> run;
};

// A metric as a module offers it; `collect` is called for every scrape and must cost at most one cheap statement.
struct Gauge {
    std::string name;  // Prometheus name
    std::string help;
    std::function<std::vector<std::pair<std::map<std::string, std::string>, double>>(const Runtime&)> collect;
};

struct Module {
    std::string id;
    bool is_plugin = false;
    std::vector<MethodEntry> methods;
    std::vector<PlannedMethod> planned;
    std::vector<store::Migration> migrations;  // of plugins; built-in ones are in store::built_in_migrations()
    std::vector<Reconciler> reconcilers;
    std::vector<std::function<std::unique_ptr<Worker>(const Runtime&)>> workers;
    std::vector<Check> checks;
    std::vector<outbox::EventFamily> event_families;
    std::vector<std::string> resource_types;  // without prefix
    std::vector<Gauge> gauges;
    // Called once when the control plane starts, after the migrations and before requests (anchoring the fan-out cursor).
    std::function<void(const Runtime&)> on_start;
};

}  // namespace compute::method
