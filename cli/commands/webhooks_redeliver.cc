// `webhooks redeliver`: the way back for dead letters, one by one or many.
#include <algorithm>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/redelivery.h"
#include "daemon/modules.h"
#include "modules/events/patterns.h"

namespace compute::cli::commands {

namespace {

struct RedeliverFlags {
    std::vector<std::string> ids;
    std::string tenant;
    bool is_all_tenants = false;
    std::string webhook;
    std::vector<std::string> states;
    std::string type;
    std::string since;
    std::string until;
    std::int64_t limit = 0;
    int rate = 0;
    bool is_dry_run = false;
    bool is_confirmed = false;
    std::string url;
};

bool has_filter(const RedeliverFlags& flags) {
    return flags.is_all_tenants || !flags.webhook.empty() || !flags.states.empty() ||
           !flags.type.empty() || !flags.since.empty() || !flags.until.empty() || flags.limit > 0;
}

events::DeliveryState state_of(const std::string& name) {
    for (const auto state :
         {events::DeliveryState::Dead,
          events::DeliveryState::Cancelled,
          events::DeliveryState::Delivered}) {
        if (events::state_name(state) == name) {
            return state;
        }
    }
    throw UsageError("--state: must be one of dead|cancelled|delivered");
}

events::RedeliverFilter filter_of(const RedeliverFlags& flags) {
    const EpochMs now = SystemClock().now_ms();
    events::RedeliverFilter filter;
    if (!flags.tenant.empty()) {
        filter.tenant_id = TenantId(flags.tenant);
    }
    if (!flags.webhook.empty()) {
        filter.webhook_id = flags.webhook;
    }
    if (!flags.states.empty()) {
        filter.states.clear();
        for (const std::string& name : flags.states) {
            filter.states.push_back(state_of(name));
        }
    }
    if (!flags.type.empty()) {
        filter.type_pattern = flags.type;
    }
    if (!flags.since.empty()) {
        filter.since = time_of_argument(flags.since, "--since", now);
    }
    if (!flags.until.empty()) {
        filter.until = time_of_argument(flags.until, "--until", now);
    }
    if (flags.limit > 0) {
        filter.limit = flags.limit;
    }
    events::check_filter(filter);
    return filter;
}

void check_usage(const RedeliverFlags& flags) {
    if (!flags.ids.empty() && has_filter(flags)) {
        throw UsageError("redeliver: takes delivery ids or a filter, not both");
    }
    if (!flags.ids.empty()) {
        if (!flags.url.empty() && flags.tenant.empty()) {
            throw UsageError("--tenant: is needed with --url");
        }
        return;
    }
    if (flags.tenant.empty() == !flags.is_all_tenants) {
        throw UsageError(
            "redeliver: a filter needs --tenant or --all-tenants",
            "to send one delivery again, name its id"
        );
    }
    if (flags.is_all_tenants && !flags.url.empty()) {
        throw UsageError("--all-tenants: works on the database only, not with --url");
    }
}

// A filter may match far more than was meant: a person is asked, a script must have said --yes.
bool is_agreed(const RedeliverFlags& flags, std::int64_t count, Console& console) {
    if (flags.is_confirmed || count == 0) {
        return true;
    }
    return console.confirm("send " + std::to_string(count) + " deliveries again?");
}

std::optional<int> rate_of(const RedeliverFlags& flags) {
    return flags.rate > 0 ? std::optional(flags.rate) : std::nullopt;
}

// An id given twice is one delivery: the second time it would only be refused as pending.
std::vector<std::string> without_repeats(const std::vector<std::string>& ids) {
    std::set<std::string> seen;
    std::vector<std::string> out;
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(out), [&](const std::string& id) {
        return seen.insert(id).second;
    });
    return out;
}

OnProgress progress_of(Console& console, std::int64_t total) {
    return [&console, total](std::int64_t done) {
        console.progress(
            "redelivering",
            static_cast<std::size_t>(done),
            static_cast<std::size_t>(std::max<std::int64_t>(total, 1))
        );
    };
}

RedeliverySummary by_filter(Target& target, const RedeliverFlags& flags, Console& console) {
    const events::RedeliverFilter filter = filter_of(flags);
    RedeliverySummary summary;
    summary.is_dry_run = flags.is_dry_run;
    std::vector<std::string> ids;
    if (target.plane() != nullptr) {
        summary.matched = events::count_matching(target.plane()->compute().database(), filter);
    } else {
        ids = ids_over_http(target, filter);
        summary.matched = static_cast<std::int64_t>(ids.size());
    }
    if (flags.is_dry_run || summary.matched == 0) {
        return summary;
    }
    if (!is_agreed(flags, summary.matched, console)) {
        throw ComputeError(ErrorCode::InvalidState, "nothing was sent again");
    }
    watch_interrupts();
    const OnProgress on_progress = progress_of(console, summary.matched);
    if (target.plane() == nullptr) {
        return redeliver_ids(target, {flags.tenant, ids, rate_of(flags)}, on_progress);
    }
    return run_redeliver_job(
        *target.plane(), create_redeliver_job(*target.plane(), filter), rate_of(flags), on_progress
    );
}

RedeliverySummary by_ids(Target& target, const RedeliverFlags& flags, Console& console) {
    const IdRequest request{flags.tenant, without_repeats(flags.ids), rate_of(flags)};
    if (flags.is_dry_run) {
        return examine_ids(target, request);
    }
    watch_interrupts();
    return redeliver_ids(
        target, request, progress_of(console, static_cast<std::int64_t>(request.ids.size()))
    );
}

void print_summary(const RedeliverySummary& summary, Console& console) {
    console.line(
        std::to_string(summary.matched) + " matched, " + std::to_string(summary.redelivered) +
        " sent again, " + std::to_string(summary.skipped.size()) + " skipped" +
        (summary.is_dry_run ? " (dry run)" : "")
    );
    for (const events::SkippedDelivery& one : summary.skipped) {
        console.line("  " + one.id + "  " + one.code + ": " + printable(one.message));
    }
}

void note_what_is_left(const RedeliverySummary& summary, Console& console) {
    if (!summary.is_unfinished) {
        return;
    }
    console.note(
        summary.job_id.empty()
            ? "interrupted; nothing was tried from " + summary.first_untried + " on"
            : "interrupted; go on with: better-compute webhooks jobs resume " + summary.job_id
    );
}

// An exact type must be one that this release publishes; a webhook may name any that a family covers.
bool is_published(const std::string& pattern, const outbox::EventCatalog& catalog) {
    const bool is_exact = pattern != "*" && !pattern.ends_with(".*");
    return is_exact ? pattern == events::kPingType || catalog.is_emittable(pattern)
                    : events::unknown_patterns({pattern}, catalog).empty();
}

// Not refused: the history may hold events of a plugin that is gone.
void note_unknown_type(const CommonOptions& common, const std::string& type, Console& console) {
    const config::Config config = common.load();
    const auto catalog = daemon::catalog_of(all_modules(config), config);
    if (type.empty() || is_published(type, catalog)) {
        return;
    }
    const auto nearest = events::nearest_pattern(type, catalog);
    console.note(
        "no event of this release matches " + printable(type) +
        (nearest ? "; did you mean " + *nearest + "?" : "")
    );
}

int redeliver(const CommonOptions& common, const RedeliverFlags& flags, Console& console) {
    common.apply(console);
    check_usage(flags);
    const bool is_by_filter = flags.ids.empty();
    if (is_by_filter && !flags.is_dry_run && !flags.is_confirmed && !console.is_interactive()) {
        throw UsageError(
            "redeliver: a filter needs --yes in a script", "--dry-run says how many it would be"
        );
    }
    note_unknown_type(common, flags.type, console);
    Target target(common, flags.url, console);
    const RedeliverySummary summary =
        is_by_filter ? by_filter(target, flags, console) : by_ids(target, flags, console);
    console.progress("", 0, 0);
    if (common.is_json) {
        console.json(to_json(summary));
    } else {
        print_summary(summary, console);
    }
    note_what_is_left(summary, console);
    return summary.is_clean() ? kExitOk : kExitRefused;
}

}  // namespace

void define_webhooks_redeliver(const Definition& webhooks) {
    const Definition command = webhooks.sub(
        "redeliver",
        "Sends deliveries again, the same bytes under the same id",
        "better-compute webhooks redeliver dlv_01k5y3v0m6y8x7w5t4s3r2p1n0\nbetter-compute webhooks "
        "redeliver --tenant acme --since 2h --rate 50 --yes"
    );
    const auto common = add_common(command);
    const auto flags = std::make_shared<RedeliverFlags>();
    CLI::App& app = command.app();
    app.add_option("DELIVERY_ID", flags->ids, "The deliveries; without them a filter is needed");
    app.add_option("--tenant", flags->tenant, "Only of this tenant")->type_name("ID");
    app.add_flag("--all-tenants", flags->is_all_tenants, "Of every tenant");
    app.add_option("--webhook", flags->webhook, "Only of this webhook")->type_name("ID");
    command.repeated(
        "--state",
        flags->states,
        "Only in this state; without it dead ones",
        {"dead", "cancelled", "delivered"}
    );
    app.add_option("--type", flags->type, "Only events that this pattern matches, as in a webhook")
        ->type_name("PATTERN");
    app.add_option("--since", flags->since, "Only queued from then on: an ISO time, or 2h, 3d")
        ->type_name("TIME");
    app.add_option("--until", flags->until, "Only queued before then")->type_name("TIME");
    command.whole("--limit", flags->limit, {1, 1'000'000'000}, "At most so many");
    command.whole("--rate", flags->rate, {1, 1'000'000}, "At most so many a second");
    app.add_flag("--dry-run", flags->is_dry_run, "Says how many it would be and changes nothing");
    app.add_flag("--yes", flags->is_confirmed, "Does not ask");
    app.add_option(
           "--url",
           flags->url,
           "Asks this server, as the bearer of BETTER_COMPUTE_TOKEN, instead of the database"
    )
        ->type_name("URL");
    command.run([common, flags](Console& console) { return redeliver(*common, *flags, console); });
}

}  // namespace compute::cli::commands
