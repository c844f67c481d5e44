// The doctor: runs checks against the database and the configuration and reports what they find. It
// needs no daemon, changes nothing, and always has an answer: a database that cannot be reached is
// a finding too.
//
// Checks that need a database come from the modules and from database_checks(); what can be judged
// without one is in host_checks(). A check that throws a ComputeError becomes an error of that
// check; the others go on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/clock.h"
#include "core/error.h"
#include "method/module.h"
#include "outbox/catalog.h"
#include "store/database.h"
#include "store/migrate.h"

namespace compute::doctor {

struct Inputs {
    const config::Config& config;  // its secret resolved when there is one
    Clock& clock;
    const std::vector<method::Module>& modules;
    const std::vector<store::Migration>& migrations;
    const outbox::EventCatalog& catalog;
    // Opens the database for reading; null when an embedded one is not there yet; throws
    // ComputeError when it cannot be reached.
    std::function<std::unique_ptr<store::Database>()> open;
    std::vector<std::string> only;  // ids; empty: all
    bool is_deep = false;           // read everything, however long it takes
};

struct Report {
    std::vector<std::string> checks;        // that ran, in order
    std::vector<method::Finding> findings;  // errors first, then warnings, then the rest; otherwise
                                            // in the order of the checks
    [[nodiscard]] bool has(method::Severity severity) const;
    [[nodiscard]] bool is_ok() const { return !has(method::Severity::Error); }
};

// Throws INVALID_INPUT for an id in `only` that no check has, with the nearest one as the hint.
[[nodiscard]] Report examine(const Inputs& inputs);

// `{"ok","checks":[...],"findings":[{"check","severity","message","fix","count"?,"details"?}]}`.
[[nodiscard]] Json report_json(const Report& report);
[[nodiscard]] std::string_view severity_name(method::Severity severity);

// A check of host and configuration alone.
struct HostCheck {
    std::string id;
    std::function<std::vector<method::Finding>(const config::Config&, Clock&)> run;
};
[[nodiscard]] const std::vector<HostCheck>& host_checks();

// Checks of the database that belong to no module. They run before those of the modules.
[[nodiscard]] std::vector<method::Check> database_checks(const std::vector<method::Module>& modules
);

}  // namespace compute::doctor
