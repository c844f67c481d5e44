#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "modules/events/operator/rotate_secrets.h"
#include "modules/iam/audit_module.h"
#include "outbox/outbox.h"

namespace compute::cli::commands {

namespace {

int rotate(const CommonOptions& common, bool is_dry_run, Console& console) {
    common.apply(console);
    Plane plane(common.load());
    if (!is_dry_run) {
        outbox::adopt_cluster(plane.compute().database());  // it writes audit rows of its own
    }
    const auto mode = is_dry_run ? events::RotateMode::DryRun : events::RotateMode::Reseal;
    auto report = events::rotate_webhook_secrets(
        plane.compute().runtime(),
        plane.session().caller,
        mode,
        [&](const events::RotateReport& so_far) {
            console.progress(
                "re-sealing",
                static_cast<std::size_t>(so_far.resealed),
                static_cast<std::size_t>(so_far.resealed + so_far.remaining + 1)
            );
        }
    );
    console.progress("", 0, 0);
    const audit::Resealed keys = iam_methods::rotate_audit_keys(
        plane.compute().runtime(),
        plane.session().caller,
        is_dry_run ? audit::ResealMode::DryRun : audit::ResealMode::Reseal
    );
    report.resealed += keys.resealed;
    report.remaining += keys.remaining;
    report.unreadable += keys.unreadable;
    if (common.is_json) {
        console.json(
            {{"resealed", report.resealed},
             {"remaining", report.remaining},
             {"unreadable", report.unreadable}}
        );
    } else {
        console.line(
            std::to_string(report.resealed) + " re-sealed, " + std::to_string(report.remaining) +
            " remaining" +
            (report.unreadable > 0
                 ? ", " + std::to_string(report.unreadable) + " that no configured secret opens"
                 : "")
        );
    }
    if (report.unreadable > 0) {
        console.note(
            "list the deployment secret they were sealed under in previous_secrets; or rotate "
            "those webhooks' secrets, and make a new key for the audit trail: better-compute audit "
            "key --replace"
        );
    }
    return report.unreadable > 0 ? kExitRefused : kExitOk;
}

}  // namespace

void define_secrets(const Definition& definition) {
    const Definition command = definition.sub(
        "rotate",
        "Seals again what is sealed under a previous deployment secret",
        "better-compute secrets rotate --dry-run"
    );
    const auto common = add_common(command);
    const auto is_dry_run = std::make_shared<bool>(false);
    command.app().add_flag("--dry-run", *is_dry_run, "Only counts");
    command.run([common, is_dry_run](Console& console) {
        return rotate(*common, *is_dry_run, console);
    });
}

}  // namespace compute::cli::commands
