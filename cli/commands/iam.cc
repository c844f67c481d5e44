#include <nlohmann/json.hpp>

#include "cli/cells.h"
#include "cli/commands/commands.h"
#include "cli/commands/iam_explain.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/plane.h"
#include "cli/storage.h"

namespace compute::cli::commands {

namespace {

int print_json_or(
    const CommonOptions& common, const Json& answer, const std::string& text, Console& console
) {
    if (common.is_json) {
        console.json(answer);
    } else {
        console.line(text);
    }
    return kExitOk;
}

struct ApplyFlags {
    std::string file;
    bool is_dry_run = false;
    bool is_prune = false;
};

int apply(const CommonOptions& common, const ApplyFlags& flags, Console& console) {
    common.apply(console);
    const Json document = json_of_argument(flags.file == "-" ? "-" : "@" + flags.file, flags.file);
    Plane plane(common.load());
    const Json answer = plane.operate(
        flags.is_dry_run ? "iam/plan" : "iam/apply",
        {{"document", document}, {"prune", flags.is_prune}}
    );
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    for (const Json& change : answer.at("changes")) {
        console.line(
            text_cell(change, "change") + " " + text_cell(change, "section") + " " +
            text_cell(change, "name")
        );
    }
    const std::size_t count = answer.at("changes").size();
    console.line(
        count == 0 ? "nothing to change"
                   : std::to_string(count) +
                         (flags.is_dry_run ? " changes would be made" : " changes made")
    );
    return kExitOk;
}

void define_documents(const Definition& iam) {
    const Definition apply_command = iam.sub(
        "apply",
        "Brings the IAM to what a document says, all or nothing",
        "better-compute iam apply acme.json --dry-run"
    );
    const auto common = add_common(apply_command);
    const auto flags = std::make_shared<ApplyFlags>();
    apply_command.app()
        .add_option("FILE", flags->file, "The document; - reads standard input")
        ->required();
    apply_command.app().add_flag(
        "--dry-run", flags->is_dry_run, "Says what would change and changes nothing"
    );
    apply_command.app().add_flag(
        "--prune", flags->is_prune, "Removes what the document does not name"
    );
    apply_command.run([common, flags](Console& console) { return apply(*common, *flags, console); }
    );

    const Definition export_command =
        iam.sub("export", "Prints the IAM as a document", "better-compute iam export > iam.json");
    const auto export_common = add_common(export_command);
    export_command.run([export_common](Console& console) {
        export_common->apply(console);
        Plane plane(export_common->load());
        const Json document = plane.operate("iam/export", Json::object());
        if (export_common->is_json) {
            console.json(document);
        } else {
            console.line(document.dump(2, ' ', false, Json::error_handler_t::replace));
        }
        return kExitOk;
    });
}

struct TokenFlags {
    std::string tenant;
    std::string identity;
    std::string delegation;
    std::string expires;
    std::string scope_file;
};

int create_token(const CommonOptions& common, const TokenFlags& flags, Console& console) {
    common.apply(console);
    Json input = {{"tenantId", flags.tenant}, {"identityId", flags.identity}};
    if (!flags.delegation.empty()) {
        input["delegationId"] = flags.delegation;
    }
    if (!flags.expires.empty()) {
        const auto lifetime = find_duration_ms(flags.expires);
        if (!lifetime) {
            throw UsageError("--expires: must be a time span such as 12h or 30d");
        }
        input["lifetimeMs"] = *lifetime;
    }
    if (!flags.scope_file.empty()) {
        input["scope"] = json_of_argument("@" + flags.scope_file, "--scope");
    }
    Plane plane(common.load());
    const Json made = plane.operate("iam/createToken", input);
    if (common.is_json) {
        console.json(made);
        return kExitOk;
    }
    console.note("token " + made.at("id").get<std::string>() + ", shown once:");
    console.line(made.at("token").get<std::string>());
    return kExitOk;
}

int list_tokens(const CommonOptions& common, const TokenFlags& flags, Console& console) {
    common.apply(console);
    Json input = Json::object();
    if (!flags.tenant.empty()) {
        input["tenantId"] = flags.tenant;
    }
    if (!flags.identity.empty()) {
        input["identityId"] = flags.identity;
    }
    Plane plane(common.load());
    const Json answer = plane.operate("iam/listTokens", input);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        rows.push_back(
            {text_cell(row, "id"),
             text_cell(row, "tenantId"),
             text_cell(row, "identityId"),
             text_cell(row, "kind"),
             time_cell(row, "createdAt"),
             time_cell(row, "expiresAt"),
             time_cell(row, "revokedAt")}
        );
    }
    console.table({"ID", "TENANT", "IDENTITY", "KIND", "CREATED", "EXPIRES", "REVOKED"}, rows);
    return kExitOk;
}

void define_tokens(const Definition& iam) {
    const Definition tokens = iam.sub(
        "tokens", "Makes, lists and revokes tokens", "better-compute iam tokens list --tenant acme"
    );

    const Definition create = tokens.sub(
        "create",
        "Makes a token and shows it once",
        "better-compute iam tokens create --tenant acme --identity ops --expires 30d"
    );
    const auto create_common = add_common(create);
    const auto create_flags = std::make_shared<TokenFlags>();
    create.app()
        .add_option("--tenant", create_flags->tenant, "The identity's tenant")
        ->required()
        ->type_name("ID");
    create.app()
        .add_option("--identity", create_flags->identity, "Whose token it is")
        ->required()
        ->type_name("ID");
    create.app()
        .add_option("--delegation", create_flags->delegation, "The delegation it acts under")
        ->type_name("ID");
    create.app()
        .add_option(
            "--expires",
            create_flags->expires,
            "How long it is good for; without it until it is revoked"
        )
        ->type_name("SPAN");
    create.app()
        .add_option("--scope", create_flags->scope_file, "A policy document that bounds the token")
        ->type_name("FILE");
    create.run([create_common, create_flags](Console& console) {
        return create_token(*create_common, *create_flags, console);
    });

    const Definition list = tokens.sub(
        "list",
        "Lists tokens, never the token itself",
        "better-compute iam tokens list --tenant acme --json"
    );
    const auto list_common = add_common(list);
    const auto list_flags = std::make_shared<TokenFlags>();
    list.app().add_option("--tenant", list_flags->tenant, "Only of this tenant")->type_name("ID");
    list.app()
        .add_option("--identity", list_flags->identity, "Only of this identity")
        ->type_name("ID");
    list.run([list_common, list_flags](Console& console) {
        return list_tokens(*list_common, *list_flags, console);
    });

    const Definition revoke = tokens.sub(
        "revoke",
        "Revokes tokens; a server that has just seen one takes it for 30 s at most",
        "better-compute iam tokens revoke tok_01k5y3v0m6y8x7w5t4s3r2p1n0"
    );
    const auto revoke_common = add_common(revoke);
    const auto ids = std::make_shared<std::vector<std::string>>();
    revoke.app().add_option("ID", *ids, "The tokens")->required();
    revoke.run([revoke_common, ids](Console& console) {
        revoke_common->apply(console);
        Plane plane(revoke_common->load());
        const Json answer = plane.operate("iam/revokeTokens", {{"ids", *ids}});
        return print_json_or(
            *revoke_common, answer, "revoked " + std::to_string(ids->size()), console
        );
    });
}

int list_confirmations(
    const CommonOptions& common,
    const std::string& tenant,
    const std::string& state,
    Console& console
) {
    common.apply(console);
    Json input = Json::object();
    if (!tenant.empty()) {
        input["tenantId"] = tenant;
    }
    if (!state.empty()) {
        input["state"] = state;
    }
    Plane plane(common.load());
    const Json answer = plane.operate("iam/listConfirmations", input);
    if (common.is_json) {
        console.json(answer);
        return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : answer.at("items")) {
        rows.push_back(
            {text_cell(row, "id"),
             text_cell(row, "state"),
             text_cell(row, "tenantId"),
             text_cell(row, "agent"),
             text_cell(row, "action"),
             text_cell(row, "reason"),
             time_cell(row, "expiresAt")}
        );
    }
    console.table({"ID", "STATE", "TENANT", "AGENT", "ACTION", "REASON", "EXPIRES"}, rows);
    return kExitOk;
}

void define_confirmations(const Definition& iam) {
    const Definition confirmations = iam.sub(
        "confirmations",
        "What agents ask a person to confirm",
        "better-compute iam confirmations list --state pending"
    );
    const Definition list = confirmations.sub(
        "list",
        "Lists confirmations, newest first",
        "better-compute iam confirmations list --state pending"
    );
    const auto common = add_common(list);
    const auto tenant = std::make_shared<std::string>();
    const auto state = std::make_shared<std::string>();
    list.app().add_option("--tenant", *tenant, "Only of this tenant")->type_name("ID");
    list.word(
        "--state",
        *state,
        {"pending", "approved", "denied", "used", "expired"},
        "Only in this state"
    );
    list.run([common, tenant, state](Console& console) {
        return list_confirmations(*common, *tenant, *state, console);
    });

    for (const std::string ruling : {"approve", "deny"}) {
        const bool is_approval = ruling == "approve";
        const Definition rule = confirmations.sub(
            ruling,
            is_approval ? "Admits what an agent asked for, once"
                        : "Refuses what an agent asked for",
            "better-compute iam confirmations " + ruling + " cnf_01k5y3v0m6y8x7w5t4s3r2p1n0"
        );
        const auto rule_common = add_common(rule);
        const auto id = std::make_shared<std::string>();
        rule.app().add_option("ID", *id, "The confirmation")->required();
        rule.run([rule_common, id, ruling](Console& console) {
            rule_common->apply(console);
            Plane plane(rule_common->load());
            const Json answer =
                plane.operate("iam/ruleConfirmation", {{"id", *id}, {"ruling", ruling}});
            return print_json_or(
                *rule_common, answer, *id + " is " + answer.at("state").get<std::string>(), console
            );
        });
    }
}

void define_switches(const Definition& iam) {
    for (const std::string name : {"disable", "enable"}) {
        const bool is_enabling = name == "enable";
        const Definition command = iam.sub(
            name,
            is_enabling ? "Lets a tenant or identity call again"
                        : "Refuses every call of a tenant or identity, within 30 s",
            "better-compute iam " + name + " identity acme/ops"
        );
        const auto common = add_common(command);
        const auto what = std::make_shared<std::string>();
        const auto id = std::make_shared<std::string>();
        command.word("KIND", *what, {"tenant", "identity"}, "What it is")->required();
        command.app()
            .add_option("ID", *id, "A tenant, or an identity as id or tenant/id")
            ->required();
        command.run([common, what, id, is_enabling](Console& console) {
            common->apply(console);
            Plane plane(common->load());
            const Json answer = plane.operate(
                "iam/switch", {{"what", *what}, {"id", *id}, {"enabled", is_enabling}}
            );
            return print_json_or(
                *common,
                answer,
                *what + " " + *id + (is_enabling ? " is enabled" : " is disabled"),
                console
            );
        });
    }
}

}  // namespace

void define_iam(const Definition& definition) {
    define_documents(definition);
    define_tokens(definition);
    define_confirmations(definition);
    define_switches(definition);
    define_iam_explain(definition);
}

}  // namespace compute::cli::commands
