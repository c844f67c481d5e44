// What the audit trail is worth: sealing it, verifying it, proving one row of it, and the keys that
// vouch for it.
#include "cli/commands/audit_seals.h"

#include <nlohmann/json.hpp>

#include "audit/proof.h"
#include "audit/verify.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "core/json.h"
#include "modules/iam/audit_module.h"

namespace compute::cli::commands {

namespace {

struct VerifyFlags {
    std::string tenant;
    std::string since;
    std::string anchor;
    std::vector<std::string> keys;
};

// Without a deployment secret nothing vouches for keys but those that are named.
std::optional<crypto::SecretBox> find_box(const config::Config& config) {
    if (config.secret.empty()) {
        return std::nullopt;
    }
    return audit::make_key_box(config.secret, config.previous_secrets);
}

audit::VerifyOptions options_of(const VerifyFlags& flags) {
    audit::VerifyOptions options;
    options.keys = flags.keys;
    if (!flags.tenant.empty()) {
        options.tenant_id = flags.tenant;
    }
    if (!flags.since.empty()) {
        options.since = time_of_argument(flags.since, "--since", SystemClock().now_ms());
    }
    if (!flags.anchor.empty()) {
        if (options.since) {
            throw UsageError(
                "--anchor: needs the whole chain", "leave --since out, or verify in two steps"
            );
        }
        options.anchor = flags.anchor;
    }
    return options;
}

Json faults_json(const std::vector<audit::Fault>& faults) {
    Json all = Json::array();
    for (const audit::Fault& fault : faults) {
        Json one = {{"message", printable(fault.message)}};
        if (fault.row) {
            one["row"] = *fault.row;
        }
        if (fault.checkpoint) {
            one["checkpoint"] = *fault.checkpoint;
        }
        all.push_back(std::move(one));
    }
    return all;
}

std::string count(std::int64_t number, const std::string& noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

void print_verification(const audit::Verification& done, Console& console) {
    for (const audit::Fault& fault : done.faults) {
        const std::string where = fault.row && fault.checkpoint
                                      ? " (checkpoint " + std::to_string(*fault.checkpoint) + ")"
                                      : "";
        console.line(console.styled(Style::Red, "fault") + "  " + printable(fault.message) + where);
    }
    if (done.is_cut) {
        console.line("there are more faults than are listed here");
    }
    console.line(
        count(done.checkpoints, "checkpoint") + " and " + count(done.rows, "row") + " verified, " +
        (done.pruned > 0 ? count(done.pruned, "row") + " pruned, " : "") +
        count(done.unsealed, "row") + " not sealed yet, " +
        (done.is_ok() ? "no fault" : count(static_cast<std::int64_t>(done.faults.size()), "fault"))
    );
    if (done.last > 0) {
        console.line(
            "the chain ends at checkpoint " + std::to_string(done.last) + ", hash " + done.last_hash
        );
    }
}

int verify(const CommonOptions& common, const VerifyFlags& flags, Console& console) {
    common.apply(console);
    const audit::VerifyOptions options = options_of(flags);
    Plane plane(common.load());
    const auto box = find_box(plane.config());
    const audit::Verification done = audit::verify(
        plane.compute().database(),
        box ? &*box : nullptr,
        options,
        [&](std::int64_t so_far, std::int64_t all) {
            console.progress(
                "verifying", static_cast<std::size_t>(so_far), static_cast<std::size_t>(all)
            );
        }
    );
    console.progress("", 0, 0);
    if (common.is_json) {
        console.json(
            {{"ok", done.is_ok()},
             {"checkpoints", done.checkpoints},
             {"rows", done.rows},
             {"unsealed", done.unsealed},
             {"faults", faults_json(done.faults)}}
        );
    } else {
        print_verification(done, console);
    }
    return done.is_ok() ? kExitOk : kExitRefused;
}

int prove(const CommonOptions& common, const std::string& row_id, Console& console) {
    common.apply(console);
    Plane plane(common.load());
    console.json(audit::prove(plane.compute().database(), row_id));
    return kExitOk;
}

int verify_proof(
    const CommonOptions& common, const std::string& file, const std::string& key, Console& console
) {
    common.apply(console);
    const Json proof = read_json_file(file, "better-compute audit prove prints one");
    const auto named = key.empty() ? std::nullopt : std::optional(key);
    const audit::ProofVerdict verdict = audit::judge_proof(proof, named);
    if (common.is_json) {
        console.json(
            {{"ok", verdict.is_ok()},
             {"row", verdict.row},
             {"tenantId", verdict.tenant_id},
             {"checkpoint", verdict.checkpoint},
             {"checkpointHash", verdict.checkpoint_hash},
             {"sealedAt", verdict.sealed_at},
             {"publicKey", verdict.public_key},
             {"isKeyNamed", named.has_value()},
             {"faults", verdict.faults}}
        );
        return verdict.is_ok() ? kExitOk : kExitRefused;
    }
    for (const std::string& fault : verdict.faults) {
        console.line(console.styled(Style::Red, "fault") + "  " + fault);
    }
    if (verdict.is_ok()) {
        console.line(
            "row " + printable(verdict.row) + " of tenant " + printable(verdict.tenant_id) +
            " stands in checkpoint " + std::to_string(verdict.checkpoint) + ", sealed " +
            iso_time(verdict.sealed_at)
        );
        console.line("signed by " + verdict.public_key);
        if (!named) {
            console.note(
                "that key came with the proof: compare it with one you have from the deployment, "
                "or name it with --key"
            );
        }
    }
    return verdict.is_ok() ? kExitOk : kExitRefused;
}

int seal(const CommonOptions& common, Console& console) {
    common.apply(console);
    Plane plane(common.load());
    std::int64_t rows = 0;
    std::int64_t checkpoints = 0;
    iam_methods::with_seal_tools(plane.compute().runtime(), [&](const audit::SealTools& tools) {
        bool has_more = true;
        while (has_more) {
            const audit::Sealed sealed = audit::seal_now(tools);
            rows += sealed.rows;
            checkpoints += sealed.checkpoints;
            has_more = sealed.is_full;
        }
    });
    if (common.is_json) {
        console.json({{"rows", rows}, {"checkpoints", checkpoints}});
    } else {
        console.line(count(rows, "row") + " sealed in " + count(checkpoints, "checkpoint"));
    }
    return kExitOk;
}

std::string trust_name(audit::KeyTrust trust) {
    switch (trust) {
        case audit::KeyTrust::Vouched:
            return "vouched";
        case audit::KeyTrust::Previous:
            return "previous-secret";
        case audit::KeyTrust::Unreadable:
            return "unreadable";
        case audit::KeyTrust::Forged:
            return "forged";
    }
    return "unreadable";
}

int show_keys(const CommonOptions& common, bool is_replacing, Console& console) {
    common.apply(console);
    Plane plane(common.load());
    if (is_replacing) {
        static_cast<void>(plane.operate("audit/replaceKey", Json::object()));
    }
    const auto box = find_box(plane.config());
    const auto keys = plane.compute().database().read([&](store::Transaction& tx) {
        return audit::read_keys(tx, box ? &*box : nullptr);
    });
    Json items = Json::array();
    std::vector<std::vector<std::string>> table;
    for (const audit::Key& key : keys) {
        const bool is_in_use = &key == &keys.back();
        items.push_back(
            {{"id", key.id},
             {"publicKey", key.public_key},
             {"createdAt", key.created_at},
             {"trust", trust_name(key.trust)},
             {"inUse", is_in_use}}
        );
        table.push_back(
            {printable(key.id),
             printable(key.public_key),
             iso_time(key.created_at),
             trust_name(key.trust),
             is_in_use ? "yes" : "no"}
        );
    }
    if (common.is_json) {
        console.json({{"keys", items}});
    } else {
        console.table({"ID", "PUBLIC KEY", "MADE", "TRUST", "IN USE"}, table);
    }
    return kExitOk;
}

void define_verify(const Definition& audit) {
    const Definition command = audit.sub(
        "verify",
        "Says whether the trail is as it was sealed, and which row or checkpoint is not",
        "better-compute audit verify\nbetter-compute audit verify --tenant acme --since 30d --json"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<VerifyFlags>();
    CLI::App& app = command.app();
    app.add_option("--tenant", flags->tenant, "Only rows of this tenant")->type_name("ID");
    app.add_option(
           "--since", flags->since, "Only what was sealed from then on: an ISO time, or 2h, 3d"
    )
        ->type_name("TIME");
    app.add_option(
           "--anchor",
           flags->anchor,
           "The hash of a checkpoint, kept elsewhere, that must be in the chain"
    )
        ->type_name("HASH");
    command
        .repeated(
            "--key", flags->keys, "A public key to trust by name, beside those the secret opens"
        )
        ->type_name("KEY");
    command.run([common, flags](Console& console) { return verify(*common, *flags, console); });
}

void define_prove(const Definition& audit) {
    const Definition command = audit.sub(
        "prove",
        "Prints the proof that a row stands in a signed checkpoint",
        "better-compute audit prove aud_01k5y3v0m6y8x7w5t4s3r2p1n0 > proof.json"
    );
    const auto common = add_common(command, Prints::Nothing);
    const auto id = std::make_shared<std::string>();
    command.app().add_option("ROW_ID", *id, "The row, as audit list --json names it")->required();
    command.run([common, id](Console& console) { return prove(*common, *id, console); });
}

void define_verify_proof(const Definition& audit) {
    const Definition command = audit.sub(
        "verify-proof",
        "Checks a proof; needs no database",
        "better-compute audit verify-proof proof.json --key "
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    );
    const auto common = add_output(command);
    const auto file = std::make_shared<std::string>();
    const auto key = std::make_shared<std::string>();
    command.app().add_option("FILE", *file, "The proof; - is standard input")->required();
    command.app()
        .add_option("--key", *key, "The public key that must have signed (audit key prints it)")
        ->type_name("KEY");
    command.run([common, file, key](Console& console) {
        return verify_proof(*common, *file, *key, console);
    });
}

void define_seal(const Definition& audit) {
    const Definition command = audit.sub(
        "seal",
        "Seals what is committed now, without waiting for the hour",
        "better-compute audit seal"
    );
    const auto common = add_common(command);
    command.run([common](Console& console) { return seal(*common, console); });
}

void define_key(const Definition& audit) {
    const Definition command = audit.sub(
        "key",
        "Prints the public keys that checkpoints are signed with",
        "better-compute audit key --json\nbetter-compute audit key --replace"
    );
    const auto common = add_common(command);
    const auto is_replacing = std::make_shared<bool>(false);
    command.app().add_flag(
        "--replace", *is_replacing, "Makes a new key and signs with it from now on"
    );
    command.run([common, is_replacing](Console& console) {
        return show_keys(*common, *is_replacing, console);
    });
}

}  // namespace

void define_audit_seals(const Definition& audit) {
    define_verify(audit);
    define_prove(audit);
    define_verify_proof(audit);
    define_seal(audit);
    define_key(audit);
}

}  // namespace compute::cli::commands
