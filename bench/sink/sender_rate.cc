// bench_sender: signed POSTs a second through one Sender (or two), against bench_sink or any other
// receiver.
//
//   bench_sender --url URL [--n 200000] [--lanes 64] [--body 600] [--loops 1] [--ca PEM]
//
// Lanes stand for webhooks: each has one attempt under way, so `lanes` is also how many are in
// flight. The URL may hold a name: it is then resolved for every attempt, as in production.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "core/clock.h"
#include "core/log.h"
#include "modules/events/signing.h"
#include "net/resolver.h"
#include "net/sender.h"

namespace {

using namespace compute;

struct Options {
    std::string url = "http://127.0.0.1:9100/hook";
    long count = 200'000;
    int lanes = 64;
    std::size_t body = 600;
    int loops = 1;
    std::string ca_file;
};

Options parse(int argc, char** argv) {
    Options out;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const char* value = argv[i + 1];
        if (name == "--url") {
            out.url = value;
        } else if (name == "--n") {
            out.count = std::atol(value);
        } else if (name == "--lanes") {
            out.lanes = std::atoi(value);
        } else if (name == "--body") {
            out.body = static_cast<std::size_t>(std::atol(value));
        } else if (name == "--loops") {
            out.loops = std::atoi(value);
        } else if (name == "--ca") {
            out.ca_file = value;
        }
    }
    return out;
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One loop's owner: keeps a few attempts in every lane until its share is sent.
class Owner final : public net::SenderOwner {
public:
    Owner(const Options& options, long count, int first_lane)
        : count_(count), first_lane_(first_lane) {
        url_ = std::make_shared<const net::Url>(std::get<net::Url>(net::parse_url(options.url)));
        body_ = std::make_shared<const std::string>(options.body, 'x');
        const crypto::Secret secret("whsec_" + std::string(43, 'A'));
        held_.resize(static_cast<std::size_t>(options.lanes));
        for (int lane = 0; lane < options.lanes; ++lane) {
            signers_.push_back(std::make_unique<events::Signer>(secret));
        }
    }

    // One submit for all lanes: from then on only the sender's thread comes here.
    void start(net::Sender& sender) {
        sender_ = &sender;
        std::vector<net::Attempt> attempts;
        for (std::size_t lane = 0; lane < signers_.size(); ++lane) {
            add(attempts, lane, 2 * kBatch);
        }
        sender.submit(std::move(attempts));
    }

    net::Go before_send(const net::Attempt& attempt, net::HeaderBlock& headers) override {
        const std::string id =
            "dlv_" + std::to_string(first_lane_) + "_" + std::to_string(attempt.id);
        events::SignedDelivery delivery;
        delivery.event_type = "reservation.active";
        delivery.delivery_id = id;
        delivery.webhook_id = "whk_1";
        delivery.body = *attempt.body;
        delivery.now = clock_.now_ms();
        signers_[attempt.lane]->add_headers(headers, delivery);
        return net::Go::Send;
    }

    void on_result(net::AttemptResult result) override {
        if (!result.is_success() && failures_++ == 0) {
            std::fprintf(
                stderr, "first failure: %s (%s)\n", result.error.c_str(), result.detail.c_str()
            );
        }
        if (++done_ == count_) {
            finished_.set_value();
        }
        if (--held_[result.lane] == kBatch) {
            std::vector<net::Attempt> attempts;
            add(attempts, result.lane, kBatch);
            sender_->submit(std::move(attempts));
        }
    }

    void wait() { finished_.get_future().wait(); }
    [[nodiscard]] long failures() const { return failures_; }

private:
    static constexpr int kBatch = 8;

    void add(std::vector<net::Attempt>& attempts, std::size_t lane, int many) {
        for (; many > 0 && submitted_ < count_; --many) {
            net::Attempt attempt;
            attempt.id = static_cast<std::uint64_t>(++submitted_);
            attempt.lane = lane;
            attempt.url = url_;
            attempt.body = body_;
            attempts.push_back(std::move(attempt));
            ++held_[lane];
        }
    }

    const long count_;
    const int first_lane_;
    SystemClock clock_;
    std::shared_ptr<const net::Url> url_;
    std::shared_ptr<const std::string> body_;
    std::vector<std::unique_ptr<events::Signer>> signers_;
    std::vector<int> held_;  // by lane
    net::Sender* sender_ = nullptr;
    long submitted_ = 0;
    long done_ = 0;
    long failures_ = 0;
    std::promise<void> finished_;
};

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    const auto resolver = net::make_system_resolver();
    std::vector<std::unique_ptr<Owner>> owners;
    std::vector<std::unique_ptr<net::Sender>> senders;
    for (int i = 0; i < options.loops; ++i) {
        owners.push_back(std::make_unique<Owner>(options, options.count / options.loops, i));
        net::SenderOptions sender_options;
        sender_options.guard.allow_private = true;
        sender_options.max_in_flight = std::max(1, options.lanes);
        sender_options.ca_file = options.ca_file;
        senders.push_back(
            std::make_unique<net::Sender>(sender_options, *owners.back(), *resolver, null_log())
        );
    }
    const auto started = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    for (std::size_t i = 0; i < owners.size(); ++i) {
        owners[i]->start(*senders[i]);
    }
    long failures = 0;
    for (const auto& owner : owners) {
        owner->wait();
        failures += owner->failures();
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const double used = cpu_seconds() - cpu;
    for (const auto& sender : senders) {
        sender->stop(std::chrono::seconds(1));
    }
    const auto count = static_cast<double>(options.count);
    std::printf(
        "{\"per_s\":%.0f,\"cpu_us_each\":%.1f,\"cpu_share\":%.2f,\"failures\":%ld,\"seconds\":%.2f}"
        "\n",
        count / seconds,
        used / count * 1e6,
        used / seconds,
        failures,
        seconds
    );
    return failures == 0 ? 0 : 1;
}
