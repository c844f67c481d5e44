// `webhooks check URL`: would a delivery reach it now? The same guard, resolver and TLS as a
// delivery; nothing is sent.
#include <condition_variable>
#include <mutex>

#include <nlohmann/json.hpp>

#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/options.h"
#include "modules/events/url_guard.h"
#include "net/connect_probe.h"
#include "net/resolver.h"

namespace compute::cli::commands {

namespace {

struct Step {
    std::string name;  // url, resolve, address, connect
    bool is_ok = true;
    std::string message;
};

net::ResolveResult resolve(const net::Url& url, std::chrono::milliseconds timeout) {
    if (url.address) {
        return {net::ResolveStatus::Ok, {*url.address}, ""};
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<net::ResolveResult> result;
    const auto resolver = net::make_system_resolver();
    resolver->resolve(url.host, timeout, [&](net::ResolveResult found) {
        const std::lock_guard lock(mutex);
        result = std::move(found);
        changed.notify_one();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return result.has_value(); });
    return std::move(*result);
}

std::string words_of(net::ResolveStatus status) {
    switch (status) {
        case net::ResolveStatus::Ok:
            return "resolved";
        case net::ResolveStatus::NotFound:
            return "the name does not exist";
        case net::ResolveStatus::Failed:
            return "the name could not be looked up";
        case net::ResolveStatus::TimedOut:
            return "the name was not resolved in time";
    }
    return "";
}

class Examination {
public:
    Examination(const config::Config& config, std::string url)
        : config_(config), url_(std::move(url)), rules_(events::url_rules(config.events)) {}

    std::vector<Step> run() {
        const auto url = judge_url();
        if (!url) {
            return steps_;
        }
        const std::chrono::milliseconds timeout(config_.events.delivery.timeout_ms);
        const net::ResolveResult resolved = resolve(*url, timeout);
        if (resolved.status != net::ResolveStatus::Ok) {
            add(
                {"resolve",
                 false,
                 words_of(resolved.status) +
                     (resolved.detail.empty() ? "" : " (" + resolved.detail + ")")}
            );
            return steps_;
        }
        if (!judge_addresses(resolved.addresses)) {
            return steps_;
        }
        connect(*url, resolved.addresses, timeout);
        return steps_;
    }

private:
    void add(Step step) { steps_.push_back(std::move(step)); }

    std::optional<net::Url> judge_url() {
        try {
            net::Url url = events::check_webhook_url(url_, rules_);
            add({"url", true, url.text});
            return url;
        } catch (const ComputeError& error) {
            // The guard's verdict is what was asked for, not a failure of the command.
            const std::string prefix = "url: ";
            const std::string& message = error.message();
            add(
                {"url",
                 false,
                 message.starts_with(prefix) ? message.substr(prefix.size()) : message}
            );
            return std::nullopt;
        }
    }

    bool judge_addresses(const std::vector<net::IpAddress>& addresses) {
        bool is_ok = true;
        for (const net::IpAddress& address : addresses) {
            const std::string_view refusal = net::refusal_of(address, rules_.guard);
            add(
                {"address",
                 refusal.empty(),
                 address.text() + (refusal.empty() ? "" : ": " + std::string(refusal))}
            );
            is_ok = is_ok && refusal.empty();
        }
        return is_ok;
    }

    void connect(
        const net::Url& url,
        const std::vector<net::IpAddress>& addresses,
        std::chrono::milliseconds timeout
    ) {
        for (const net::IpAddress& address : addresses) {
            const net::ProbeResult probe =
                net::probe_connection(url, address, config_.events.ca_file, timeout);
            if (probe.is_connected()) {
                const std::string tls =
                    url.is_tls
                        ? ", TLS in " + std::to_string(static_cast<int>(probe.tls_ms)) + " ms"
                        : ", without TLS";
                add(
                    {"connect",
                     true,
                     address.text() + " in " + std::to_string(static_cast<int>(probe.connect_ms)) +
                         " ms" + tls}
                );
                return;
            }
            add({"connect", false, address.text() + ": " + probe.error});
        }
    }

    const config::Config& config_;
    std::string url_;
    events::UrlRules rules_;
    std::vector<Step> steps_;
};

int check(const CommonOptions& common, const std::string& url, Console& console) {
    common.apply(console);
    const config::Config config = common.load();
    const std::vector<Step> steps = Examination(config, url).run();
    // The last step decides: of several addresses one that answers is enough.
    const bool is_ok = steps.back().is_ok;
    if (common.is_json) {
        Json list = Json::array();
        for (const Step& step : steps) {
            list.push_back({{"step", step.name}, {"ok", step.is_ok}, {"message", step.message}});
        }
        console.json({{"ok", is_ok}, {"steps", list}});
        return is_ok ? kExitOk : kExitRefused;
    }
    for (const Step& step : steps) {
        console.line(
            (step.is_ok ? console.styled(Style::Green, "ok  ") : console.styled(Style::Red, "no  ")
            ) +
            step.name + ": " + printable(step.message)
        );
    }
    return is_ok ? kExitOk : kExitRefused;
}

}  // namespace

void define_webhooks_check(const Definition& webhooks) {
    const Definition command = webhooks.sub(
        "check",
        "Says whether a delivery would reach a URL now; sends nothing",
        "better-compute webhooks check https://hooks.example.com/x"
    );
    const auto common = add_common(command);
    const auto url = std::make_shared<std::string>();
    command.app().add_option("URL", *url, "The URL, as a webhook would have it")->required();
    command.run([common, url](Console& console) { return check(*common, *url, console); });
}

}  // namespace compute::cli::commands
