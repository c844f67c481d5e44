#include "net/sender_loop.h"

#include <algorithm>
#include <utility>

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/error.h"
#include "core/log.h"

namespace compute::net {
namespace {

// After the result is known, a short body is read for this long so that the connection can be kept;
// then it is closed.
constexpr std::chrono::milliseconds kDrainTime{250};

SenderOptions checked(SenderOptions options) {
    if (options.max_in_flight < 1 || options.max_idle_connections < 0) {
        throw internal_error(
            "sender: max_in_flight must be at least 1, max_idle_connections at least 0"
        );
    }
    return options;
}

int checked(int fd, const char* what) {
    if (fd < 0) {
        throw internal_error(std::string(what) + " failed");
    }
    return fd;
}

}  // namespace

Sender::Loop::Loop(SenderOptions options, SenderOwner& owner, Resolver& resolver, Log& log)
    : options_(checked(std::move(options))),
      owner_(owner),
      resolver_(resolver),
      log_(log),
      ca_file_(get_ca_file(options_.ca_file)),
      inbox_(std::make_shared<Inbox>()),
      epoll_fd_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    initialize_curl();
    multi_.reset(curl_multi_init());
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    curl_multi_setopt(
        multi_.get(),
        CURLMOPT_MAXCONNECTS,
        static_cast<long>(options_.max_in_flight + options_.max_idle_connections)
    );
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = inbox_->event_fd();
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, event.data.fd, &event);
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), options_.name.substr(0, 15).c_str());
}

Sender::Loop::~Loop() {
    inbox_->close();
    join(std::chrono::milliseconds(0));
    exchanges_.clear();
    multi_.reset();
    ::close(epoll_fd_);
}

void Sender::Loop::join(std::chrono::milliseconds bound) {
    {
        std::unique_lock lock(end_mutex_);
        end_signal_.wait_for(lock, bound, [&] { return has_ended_; });
    }
    inbox_->break_off();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Sender::Loop::run() {
    const PipeSignalBlock block;
    while (true) {
        for (Command& command : inbox_->take()) {
            apply(std::move(command));
        }
        if (inbox_->is_closed() && !std::exchange(was_closed_, true)) {
            cancel_waiting();
        }
        pump();
        reap();
        run_timers();
        if (was_closed_ && inbox_->is_broken_off()) {
            break_off();
        }
        if (was_closed_ && idle_.size() == exchanges_.size()) {
            break;
        }
        wait();
    }
    // A submit that came between the last take() and close() is not left unreported.
    for (Command& command : inbox_->take()) {
        if (const auto* attempt = std::get_if<Attempt>(&command)) {
            cancel(*attempt);
        }
    }
    const std::lock_guard lock(end_mutex_);
    has_ended_ = true;
    end_signal_.notify_all();
}

void Sender::Loop::apply(Command command) {
    if (auto* attempt = std::get_if<Attempt>(&command)) {
        if (was_closed_) {
            cancel(*attempt);
            return;
        }
        const LaneKey key = attempt->lane;
        lanes_[key].waiting.push_back(std::move(*attempt));
        settle_lane(key);
    } else if (const auto* resume = std::get_if<Resume>(&command)) {
        if (const auto lane = lanes_.find(resume->lane); lane != lanes_.end()) {
            lane->second.is_held = false;
            settle_lane(resume->lane);
        }
    } else if (const auto* drop = std::get_if<DropLane>(&command)) {
        if (const auto lane = lanes_.find(drop->lane); lane != lanes_.end()) {
            const auto dropped = std::exchange(lane->second.waiting, {});
            lane->second.is_held = false;
            settle_lane(drop->lane);
            std::for_each(dropped.begin(), dropped.end(), [&](const Attempt& each) {
                cancel(each);
            });
        }
    } else {
        on_resolved(std::move(std::get<Resolved>(command)));
    }
}

// Puts the lane into the queue of ready ones when it is, and forgets it when it holds nothing.
void Sender::Loop::settle_lane(LaneKey key) {
    const auto found = lanes_.find(key);
    if (found == lanes_.end()) {
        return;
    }
    Lane& lane = found->second;
    if (lane.is_busy || lane.is_queued || (lane.is_held && !lane.waiting.empty())) {
        return;
    }
    if (lane.waiting.empty()) {
        lanes_.erase(found);
        return;
    }
    lane.is_queued = true;
    ready_.push_back(key);
}

void Sender::Loop::pump() {
    const auto limit = static_cast<std::size_t>(options_.max_in_flight);
    while (!ready_.empty() && (!idle_.empty() || exchanges_.size() < limit)) {
        const LaneKey key = ready_.front();
        ready_.pop_front();
        const auto found = lanes_.find(key);
        found->second.is_queued = false;
        while (!found->second.waiting.empty() && !start_next(key, found->second)) {
        }
        settle_lane(key);
    }
}

// Asks the owner about the first attempt of the lane. False: it was dropped, ask about the next.
bool Sender::Loop::start_next(LaneKey key, Lane& lane) {
    Exchange& exchange = take_exchange(key);
    exchange.headers().clear();
    Go go = Go::Drop;
    std::string fault;
    try {  // the worker's catch around one item: what fails for one attempt must not end the loop
        go = owner_.before_send(lane.waiting.front(), exchange.headers());
    } catch (const std::exception& error) {
        fault = error.what();
        log_.error("sender.before-send-failed", {{"lane", std::to_string(key)}, {"error", fault}});
    }
    if (go == Go::Hold) {
        lane.is_held = true;
        give_back(exchange);
        return true;
    }
    Attempt attempt = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    if (go == Go::Drop) {
        give_back(exchange);
        cancel(attempt);
        return false;
    }
    lane.is_busy = true;
    exchange.begin(std::move(attempt), std::chrono::steady_clock::now());
    const Url& url = *exchange.attempt().url;
    if (!url.address) {
        resolve(exchange);
    } else {
        send(exchange, {*url.address});
    }
    return true;
}

// The one that served the lane last when it is free: it holds the TLS session. Else a new one while
// there may be more, else the one longest unused. Pumping makes sure there is one.
Exchange& Sender::Loop::take_exchange(LaneKey lane) {
    Exchange* chosen = nullptr;
    if (const auto last = last_exchange_.find(lane);
        last != last_exchange_.end() && last->second->phase == Exchange::Phase::Idle) {
        chosen = last->second;
    } else if (exchanges_.size() < static_cast<std::size_t>(options_.max_in_flight)) {
        exchanges_.push_back(std::make_unique<Exchange>(ca_file_, sockets_));
        chosen = exchanges_.back().get();
        chosen->answered = &answered_;
        chosen->position = idle_.insert(idle_.end(), chosen);
    } else {
        chosen = idle_.front();
    }
    busy_.splice(busy_.end(), idle_, chosen->position);
    if (chosen->last_lane != lane) {
        if (chosen->last_lane && last_exchange_[*chosen->last_lane] == chosen) {
            last_exchange_.erase(*chosen->last_lane);
        }
        chosen->last_lane = lane;
        last_exchange_[lane] = chosen;
    }
    return *chosen;
}

void Sender::Loop::give_back(Exchange& exchange) {
    clear_timer(exchange);
    exchange.phase = Exchange::Phase::Idle;
    exchange.serial = 0;
    idle_.splice(idle_.end(), busy_, exchange.position);
}

void Sender::Loop::report_answered() {
    for (Exchange* exchange : std::exchange(answered_, {})) {
        if (exchange->phase == Exchange::Phase::Sending && exchange->is_answered()) {
            const SteadyTime now = std::chrono::steady_clock::now();
            exchange->phase = Exchange::Phase::Draining;
            set_timer(*exchange, now + kDrainTime);
            report(exchange->result(CURLE_OK, now));
        }
    }
}

void Sender::Loop::reap() {
    while (true) {
        long timeout = -1;
        curl_multi_timeout(multi_.get(), &timeout);
        if (timeout == 0) {
            int running = 0;
            curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
        }
        int left = 0;
        bool was_any = false;
        while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
            if (message->msg == CURLMSG_DONE) {
                was_any = true;
                on_done(Exchange::of(message->easy_handle), message->data.result);
            }
        }
        report_answered();
        if (!was_any && timeout != 0) {
            return;
        }
        pump();
    }
}

void Sender::Loop::on_done(Exchange& exchange, CURLcode code) {
    curl_multi_remove_handle(multi_.get(), exchange.handle());
    const SteadyTime now = std::chrono::steady_clock::now();
    if (exchange.phase == Exchange::Phase::Sending && exchange.needs_fresh_connection(code) &&
        now < exchange.deadline()) {
        exchange.prepare_fresh(now);
        curl_multi_add_handle(multi_.get(), exchange.handle());
        return;
    }
    finish(exchange, exchange.result(code, now));
}

// The exchange has ended, and is no longer at the multi handle. Reports unless that was done when
// the header was in.
void Sender::Loop::finish(Exchange& exchange, AttemptResult result) {
    const bool is_reported = exchange.phase == Exchange::Phase::Draining;
    const LaneKey key = exchange.attempt().lane;
    if (!exchange.pin_key.empty()) {
        --pins_[exchange.pin_key];
        exchange.pin_key.clear();
    }
    give_back(exchange);
    lanes_[key].is_busy = false;
    if (!is_reported) {
        report(std::move(result));
    }
    settle_lane(key);
}

void Sender::Loop::cancel(const Attempt& attempt) {
    AttemptResult result;
    result.id = attempt.id;
    result.lane = attempt.lane;
    result.is_cancelled = true;
    result.error = "not sent";
    report(std::move(result));
}

void Sender::Loop::report(AttemptResult result) {
    try {  // as above: the loop goes on
        owner_.on_result(std::move(result));
    } catch (const std::exception& error) {
        log_.error("sender.on-result-failed", {{"error", error.what()}});
    }
}

void Sender::Loop::set_timer(Exchange& exchange, SteadyTime at) {
    clear_timer(exchange);
    exchange.timer = at;
    timers_.emplace(at, &exchange);
}

void Sender::Loop::clear_timer(Exchange& exchange) {
    if (exchange.timer) {
        timers_.erase({*exchange.timer, &exchange});
        exchange.timer.reset();
    }
}

void Sender::Loop::run_timers() {
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
        Exchange& exchange = *timers_.begin()->second;
        if (exchange.phase == Exchange::Phase::Draining) {
            curl_multi_remove_handle(
                multi_.get(), exchange.handle()
            );  // unfinished: closes the connection
            finish(exchange, {});
        } else {
            finish(
                exchange,
                exchange.failure("host name lookup timed out", "no answer from the resolver", now)
            );
        }
    }
}

void Sender::Loop::cancel_waiting() {
    std::vector<Attempt> waiting;
    for (auto lane = lanes_.begin(); lane != lanes_.end();) {
        std::move(
            lane->second.waiting.begin(), lane->second.waiting.end(), std::back_inserter(waiting)
        );
        lane->second.waiting.clear();
        lane->second.is_queued = false;
        lane = lane->second.is_busy ? std::next(lane) : lanes_.erase(lane);
    }
    ready_.clear();
    std::for_each(waiting.begin(), waiting.end(), [&](const Attempt& each) { cancel(each); });
}

void Sender::Loop::break_off() {
    for (const auto& exchange : exchanges_) {
        if (exchange->phase == Exchange::Phase::Idle) {
            continue;
        }
        const SteadyTime now = std::chrono::steady_clock::now();
        AttemptResult result;
        if (exchange->phase == Exchange::Phase::Resolving) {
            result = exchange->failure({}, {}, now);
        } else {
            result = exchange->result(CURLE_OPERATION_TIMEDOUT, now);
            curl_multi_remove_handle(multi_.get(), exchange->handle());
        }
        if (result.outcome != Outcome::Answered) {
            result.is_cancelled = true;
            result.error = "broken off by a shutdown";
        }
        finish(*exchange, std::move(result));
    }
}

}  // namespace compute::net
