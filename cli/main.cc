// better-compute: the daemon and the tool of its operators. This is its table of commands; each
// row's file under commands/ defines its options and runs it.
#include <exception>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commands/commands.h"
#include "cli/console.h"

namespace {

using compute::cli::Command;
namespace commands = compute::cli::commands;

std::vector<Command> make_table() {
    return {
        {"serve",
         "Runs the daemon",
         "better-compute serve\nbetter-compute serve --listen 0.0.0.0:8420 --behind-proxy --roles "
         "api",
         commands::define_serve},
        {"migrate",
         "Brings the database to the state this binary needs",
         "better-compute migrate\nbetter-compute migrate status --json",
         commands::define_migrate},
        {"doctor",
         "Says what is wrong and what to do about it",
         "better-compute doctor\nbetter-compute doctor --strict --json --check "
         "events.webhook-dead-letters",
         commands::define_doctor},
        {"config",
         "Prints or checks the effective configuration",
         "better-compute config\nbetter-compute config check --config /etc/better-compute.toml",
         commands::define_config},
        {"api",
         "Calls a method, in process or over HTTP",
         "better-compute api pools.create tenantId=acme name=h100\nbetter-compute api "
         "webhooks.list tenantId=acme --query 'items[].url' --url http://127.0.0.1:8420",
         commands::define_api},
        {"webhooks",
         "Looks at webhooks and their deliveries, sends them again",
         "better-compute webhooks deliveries --tenant acme --state dead\nbetter-compute webhooks "
         "redeliver --tenant acme --yes",
         commands::define_webhooks},
        {"iam",
         "Tenants, identities, policies and tokens of the embedded IAM",
         "better-compute iam apply acme.json\nbetter-compute iam tokens create --tenant acme "
         "--identity ops",
         commands::define_iam},
        {"audit",
         "Reads, verifies and proves the audit trail",
         "better-compute audit list --tenant acme --since 2h\nbetter-compute audit verify",
         commands::define_audit},
        {"secrets",
         "Re-seals secrets after the deployment secret changed",
         "better-compute secrets rotate --dry-run",
         commands::define_secrets},
        {"backup",
         "Takes a consistent copy of an embedded database while serving",
         "better-compute backup /var/backups/compute.db",
         commands::define_backup},
        {"api:surface",
         "Prints, compares or records the API surface",
         "better-compute api:surface --check\nbetter-compute api:surface --format openapi",
         commands::define_surface},
        {"completion",
         "Prints the completion script of a shell",
         "better-compute completion bash > /etc/bash_completion.d/better-compute",
         commands::define_completion},
        {"version",
         "Prints the version, the commit and the engines",
         "better-compute version --json",
         commands::define_version},
        {"generate",
         "Writes manual pages, completions or reference pages",
         "better-compute generate man man",
         commands::define_generate,
         true},
    };
}

}  // namespace

int main(int argc, char** argv) {
    compute::cli::Console console;
    try {
        return compute::cli::run_command_line(
            make_table(), std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), console
        );
    } catch (const std::exception& error) {
        console.error("INTERNAL_ERROR", error.what(), "");
        return compute::cli::kExitRefused;
    }
}
