#include "cli/table.h"

#include "cli/commands/commands.h"

namespace compute::cli {

std::vector<Command> command_table() {
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
        {"agent",
         "Makes this machine a node and keeps it one",
         "better-compute agent --url https://compute.example:8420 --token-file token\n"
         "better-compute agent --url http://127.0.0.1:8420 --simulate fleet.json",
         commands::define_agent},
        {"fleet",
         "A tenant's pools, projects and quotas as one document",
         "better-compute fleet export --tenant acme fleet.json\nbetter-compute fleet plan "
         "fleet.json\nbetter-compute fleet apply fleet.json",
         commands::define_fleet},
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

}  // namespace compute::cli
