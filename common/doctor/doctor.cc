#include "doctor/doctor.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "config/suggest.h"

namespace compute::doctor {

namespace {

constexpr const char* kDatabaseCheck = "core.database";
constexpr const char* kMigrationsCheck = "core.migrations";

std::vector<method::Check> checks_of_modules(const std::vector<method::Module>& modules) {
    std::vector<method::Check> checks;
    for (const method::Module& module : modules) {
        checks.insert(checks.end(), module.checks.begin(), module.checks.end());
    }
    return checks;
}

// The message, and the first line of the detail unless the message holds it already.
std::string with_detail(const ComputeError& error) {
    const std::string message = error.message();
    const std::string detail = error.log_detail().substr(0, error.log_detail().find('\n'));
    return detail.empty() || message.find(detail) != std::string::npos
               ? message
               : message + " (" + detail + ")";
}

class Examination {
public:
    explicit Examination(const Inputs& inputs)
        : inputs_(inputs),
          own_(database_checks(inputs.modules)),
          modules_(checks_of_modules(inputs.modules)) {
        refuse_unknown();
    }

    Report run() {
        const auto database = open();
        if (database) {
            run_on(*database);
        }
        for (const HostCheck& check : host_checks()) {
            if (is_wanted(check.id)) {
                run_one(check.id, [&] { return check.run(inputs_.config, inputs_.clock); });
            }
        }
        std::stable_sort(
            report_.findings.begin(),
            report_.findings.end(),
            [](const auto& a, const auto& b) { return a.severity < b.severity; }
        );
        return std::move(report_);
    }

private:
    void refuse_unknown() const {
        std::vector<std::string> known;
        for (const auto& list : {own_, modules_}) {
            for (const method::Check& check : list) {
                known.push_back(check.id);
            }
        }
        for (const HostCheck& check : host_checks()) {
            known.push_back(check.id);
        }
        for (const std::string& id : inputs_.only) {
            if (std::find(known.begin(), known.end(), id) == known.end()) {
                const auto nearest = config::find_nearest(id, known);
                throw ComputeError(
                    ErrorCode::InvalidInput,
                    "unknown check: " + id,
                    ErrorExtra{
                        nullptr,
                        "",
                        nearest ? "did you mean " + *nearest + "?"
                                : "better-compute doctor --json lists the checks"}
                );
            }
        }
    }

    [[nodiscard]] bool is_wanted(const std::string& id) const {
        return inputs_.only.empty() ||
               std::find(inputs_.only.begin(), inputs_.only.end(), id) != inputs_.only.end();
    }

    void add(method::Finding finding) { report_.findings.push_back(std::move(finding)); }

    template <class Function>
    void run_one(const std::string& id, const Function& function) {
        report_.checks.push_back(id);
        try {
            for (method::Finding& finding : function()) {
                add(std::move(finding));
            }
        } catch (const ComputeError& error) {
            add(
                {id,
                 method::Severity::Error,
                 error.message() +
                     (error.log_detail().empty() ? "" : " (" + error.log_detail() + ")"),
                 error.hint(),
                 {},
                 {}}
            );
        }
    }

    // Opening is part of core.database, whether that was asked for or not: without a database
    // nothing else can be said.
    std::unique_ptr<store::Database> open() {
        try {
            auto database = inputs_.open();
            if (!database) {
                report_.checks.emplace_back(kDatabaseCheck);
                add(
                    {kDatabaseCheck,
                     method::Severity::Info,
                     "there is no database yet",
                     "better-compute serve makes it",
                     {},
                     {}}
                );
            }
            return database;
        } catch (const ComputeError& error) {
            report_.checks.emplace_back(kDatabaseCheck);
            add(
                {kDatabaseCheck,
                 method::Severity::Error,
                 "cannot be reached: " + with_detail(error),
                 error.hint().empty() ? "look at database.url with `better-compute config`, and "
                                        "whether the server runs"
                                      : error.hint(),
                 {},
                 {}}
            );
            return nullptr;
        }
    }

    void run_on(store::Database& database) {
        method::CheckContext context{
            database,
            inputs_.config,
            inputs_.clock,
            inputs_.migrations,
            inputs_.catalog,
            inputs_.is_deep};
        bool is_migrated = true;
        for (const method::Check& check : own_) {
            // Even when it was not asked for: it decides whether the modules' tables can be read at
            // all.
            if (check.id == kMigrationsCheck && !is_wanted(check.id)) {
                is_migrated = check.run(context).empty();
                continue;
            }
            if (is_wanted(check.id)) {
                const std::size_t before = report_.findings.size();
                run_one(check.id, [&] { return check.run(context); });
                is_migrated = is_migrated &&
                              (check.id != kMigrationsCheck || report_.findings.size() == before);
            }
            if (check.id == kMigrationsCheck && !is_migrated) {
                break;
            }
        }
        if (!is_migrated) {
            return;
        }
        for (const method::Check& check : modules_) {
            if (is_wanted(check.id)) {
                run_one(check.id, [&] { return check.run(context); });
            }
        }
    }

    const Inputs& inputs_;
    std::vector<method::Check> own_;
    std::vector<method::Check> modules_;
    Report report_;
};

}  // namespace

bool Report::has(method::Severity severity) const {
    return std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
        return finding.severity == severity;
    });
}

Report examine(const Inputs& inputs) {
    return Examination(inputs).run();
}

std::string_view severity_name(method::Severity severity) {
    switch (severity) {
        case method::Severity::Error:
            return "error";
        case method::Severity::Warning:
            return "warning";
        case method::Severity::Info:
            return "info";
    }
    return "info";
}

Json report_json(const Report& report) {
    Json findings = Json::array();
    for (const method::Finding& finding : report.findings) {
        Json one = {
            {"check", finding.check},
            {"severity", severity_name(finding.severity)},
            {"message", finding.message},
            {"fix", finding.fix}};
        if (finding.count) {
            one["count"] = *finding.count;
        }
        if (finding.details) {
            one["details"] = *finding.details;
        }
        findings.push_back(std::move(one));
    }
    return {{"ok", report.is_ok()}, {"checks", report.checks}, {"findings", findings}};
}

}  // namespace compute::doctor
