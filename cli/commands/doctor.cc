#include "doctor/doctor.h"

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "cli/storage.h"
#include "daemon/modules.h"

namespace compute::cli::commands {

namespace {

struct DoctorFlags {
    bool is_strict = false;
    bool is_deep = false;
    std::vector<std::string> only;
};

// A secret file with a fault is a finding of core.secret, not the end of the examination.
config::Config with_secret_if_sound(const config::Config& config) {
    try {
        return with_secret(config);
    } catch (const ComputeError&) {
        return config;
    }
}

Style style_of(method::Severity severity) {
    switch (severity) {
        case method::Severity::Error:
            return Style::Red;
        case method::Severity::Warning:
            return Style::Yellow;
        case method::Severity::Info:
            return Style::Dim;
    }
    return Style::Plain;
}

void print_report(const doctor::Report& report, Console& console) {
    for (const method::Finding& finding : report.findings) {
        const std::string severity(doctor::severity_name(finding.severity));
        console.line(
            console.styled(style_of(finding.severity), severity) + "  " + finding.check + ": " +
            printable(finding.message)
        );
        if (!finding.fix.empty()) {
            console.line("    fix: " + printable(finding.fix));
        }
    }
    const auto count = [](std::size_t number, const std::string& noun) {
        return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
    };
    console.line(
        count(report.checks.size(), "check") + ", " +
        (report.findings.empty() ? "nothing found" : count(report.findings.size(), "finding"))
    );
}

// All that examine() itself refuses is a check nobody knows: a slip of whoever typed it.
doctor::Report examined(const doctor::Inputs& inputs) {
    try {
        return doctor::examine(inputs);
    } catch (const ComputeError& error) {
        if (error.code() == ErrorCode::InvalidInput) {
            throw UsageError(error.message(), error.hint());
        }
        throw;
    }
}

int examine(const CommonOptions& common, const DoctorFlags& flags, Console& console) {
    common.apply(console);
    const config::Config config = with_secret_if_sound(common.load());
    SystemClock clock;
    const auto modules = all_modules(config);
    const auto migrations = daemon::migrations_of(modules);
    const auto catalog = daemon::catalog_of(modules, config);
    const auto open = [&] {
        return database_exists(config) ? open_database(config, Access::ReadOnly) : nullptr;
    };
    const doctor::Report report =
        examined({config, clock, modules, migrations, catalog, open, flags.only, flags.is_deep});
    if (common.is_json) {
        console.json(doctor::report_json(report));
    } else {
        print_report(report, console);
    }
    const bool is_refused =
        !report.is_ok() || (flags.is_strict && report.has(method::Severity::Warning));
    return is_refused ? kExitRefused : kExitOk;
}

}  // namespace

void define_doctor(const Definition& definition) {
    const auto common = add_common(definition);
    const auto flags = std::make_shared<DoctorFlags>();
    definition.app().add_flag("--strict", flags->is_strict, "Exit status 1 with any warning too");
    definition.app().add_flag("--deep", flags->is_deep, "Reads everything, however long it takes");
    definition.repeated("--check", flags->only, "Only this check")->type_name("ID");
    definition.run([common, flags](Console& console) { return examine(*common, *flags, console); });
}

}  // namespace compute::cli::commands
