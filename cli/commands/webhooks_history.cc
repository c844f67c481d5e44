// `webhooks explain` and `webhooks proof`: what happened to one delivery, and whether every event
// reached the queue.
#include <nlohmann/json.hpp>

#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/storage.h"
#include "modules/events/operator/inspect.h"

namespace compute::cli::commands {

namespace {

int explain(const CommonOptions& common, const std::string& id, Console& console) {
    common.apply(console);
    const config::Config config = common.load();
    const auto database = open_database(config, Access::ReadOnly);
    const auto told = events::explain_delivery(*database, config, id, SystemClock().now_ms());
    if (!told) {
        throw not_found("there is no delivery " + id);
    }
    if (common.is_json) {
        console.json(*told);
        return kExitOk;
    }
    for (const Json& sentence : told->at("story")) {
        console.line(printable(sentence.get<std::string>()));
    }
    return kExitOk;
}

struct ProofFlags {
    std::string since;
    std::string tenant;
};

int prove(const CommonOptions& common, const ProofFlags& flags, Console& console) {
    common.apply(console);
    const EpochMs now = SystemClock().now_ms();
    const EpochMs since = time_of_argument(flags.since, "--since", now);
    const config::Config config = common.load();
    const auto database = open_database(config, Access::ReadOnly);
    const auto tenant = flags.tenant.empty() ? std::nullopt : std::optional(TenantId(flags.tenant));
    const events::Proof proof = events::prove_queueing(*database, config, since, tenant, now);
    Json gaps = Json::array();
    for (const events::ProofGap& gap : proof.gaps) {
        gaps.push_back(
            {{"webhookId", gap.webhook_id}, {"eventId", gap.event_id}, {"position", gap.position}}
        );
    }
    if (common.is_json) {
        console.json(
            {{"ok", proof.is_ok()},
             {"expected", proof.expected},
             {"found", proof.found},
             {"gaps", gaps},
             {"setAside", proof.set_aside}}
        );
    } else {
        console.line(
            std::to_string(proof.expected) + " deliveries expected, " +
            std::to_string(proof.found) + " found, " + std::to_string(proof.gaps.size()) +
            " missing"
        );
        for (const events::ProofGap& gap : proof.gaps) {
            console.line("  " + gap.webhook_id + "  " + gap.event_id + "  at " + gap.position);
        }
    }
    return proof.is_ok() ? kExitOk : kExitRefused;
}

}  // namespace

void define_webhooks_history(const Definition& webhooks) {
    const Definition explain_command = webhooks.sub(
        "explain",
        "Tells one delivery in full: its event, each attempt, what comes next and why",
        "better-compute webhooks explain dlv_01k5y3v0m6y8x7w5t4s3r2p1n0"
    );
    const auto explain_common = add_common(explain_command);
    const auto id = std::make_shared<std::string>();
    explain_command.app().add_option("DELIVERY_ID", *id, "The delivery")->required();
    explain_command.run([explain_common, id](Console& console) {
        return explain(*explain_common, *id, console);
    });

    const Definition proof_command = webhooks.sub(
        "proof",
        "Proves that every event reached every webhook that wanted it",
        "better-compute webhooks proof --since 3d --tenant acme"
    );
    const auto common = add_common(proof_command);
    const auto flags = std::make_shared<ProofFlags>();
    proof_command.app()
        .add_option("--since", flags->since, "From when on: an ISO time, or 2h, 3d")
        ->required()
        ->type_name("TIME");
    proof_command.app()
        .add_option("--tenant", flags->tenant, "Only of this tenant")
        ->type_name("ID");
    proof_command.run([common, flags](Console& console) { return prove(*common, *flags, console); }
    );
}

}  // namespace compute::cli::commands
