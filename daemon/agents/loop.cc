#include "daemon/agents/loop.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace compute::daemon::agents {
namespace {

constexpr int kEventsPerRound = 512;
constexpr int kRoundMs = 100;  // how late a deadline may be noticed
constexpr std::int64_t kLookMs = 250;
constexpr std::size_t kReadBytes = 16'384;
constexpr std::size_t kMaxThrownAway = 1024 * 1024;
constexpr std::uint64_t kWakeId = 0;

}  // namespace

AgentLoop::AgentLoop(const method::Runtime& runtime, LoopLimits limits)
    : runtime_(runtime),
      limits_(limits),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWakeId;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_fd_, &event) != 0) {
        throw internal_error("epoll_ctl: " + std::generic_category().message(errno));
    }
    jobs_ = std::make_unique<JobPool>(limits_.job_threads);
    thread_ = std::jthread([this] { run(); });
}

AgentLoop::~AgentLoop() {
    stop();
    ::close(epoll_);
    ::close(wake_fd_);
}

void AgentLoop::stop() {
    is_stopping_ = true;
    post([] {});
    if (thread_.joinable()) {
        thread_.join();
    }
    jobs_->stop();
    links_.clear();
}

void AgentLoop::post(std::function<void()> function) {
    posted_.with([&](auto& list) { list.push_back(std::move(function)); });
    const std::uint64_t one = 1;
    // Full means that a wake-up is pending already.
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

void AgentLoop::set_lease(std::string process, std::int64_t until_ms) {
    process_.with([&](std::string& name) { name = std::move(process); });
    lease_until_ms_ = until_ms;
}

LoopStats AgentLoop::stats() const {
    return {
        .links = link_count_,
        .nodes = node_count_,
        .welcomed = welcomed_,
        .refused = refused_,
        .dropped = dropped_,
        .looks = looks_,
        .has_lease = runtime_.clock.steady_ms() < lease_until_ms_};
}

void AgentLoop::run() {
    std::array<epoll_event, kEventsPerRound> events{};
    while (!is_stopping_) {
        const int count = ::epoll_wait(epoll_, events.data(), kEventsPerRound, kRoundMs);
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            // By number, not by pointer: a link may have gone earlier in this round.
            if (const auto link = links_.find(event.data.u64); link != links_.end()) {
                on_ready(*link->second, event.events);
            }
        }
        run_posted();
        if (const std::int64_t now = runtime_.clock.steady_ms(); now >= next_look_ms_) {
            next_look_ms_ = now + kLookMs;
            check_deadlines(now);
            take_due_steps(now);
            ++looks_;
        }
        node_count_ = watch_.size();
    }
}

void AgentLoop::run_posted() {
    std::uint64_t ignored = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_fd_, &ignored, sizeof ignored);
    const auto functions = posted_.with([](auto& list) { return std::exchange(list, {}); });
    for (const auto& function : functions) {
        function();
    }
}

void AgentLoop::check_deadlines(std::int64_t now) {
    std::vector<std::uint64_t> late;
    for (const auto& [id, link] : links_) {
        const bool has_deadline = link->phase == LinkPhase::Hello ||
                                  link->phase == LinkPhase::Closing || !link->out.empty();
        if (has_deadline && now >= link->deadline_ms) {
            late.push_back(id);
        }
    }
    for (const std::uint64_t id : late) {
        Link& link = *links_.at(id);
        if (link.phase == LinkPhase::Hello) {
            failures_.count(link.source_ip, now);
        }
        if (link.phase != LinkPhase::Closing) {
            ++dropped_;
        }
        close_link(link);
    }
}

void AgentLoop::take_due_steps(std::int64_t now) {
    for (capacity::NodeStep& step : watch_.take_due(now)) {
        jobs_->add([this,
                    process = process_.with([](const std::string& name) { return name; }),
                    step = std::move(step)] {
            bool is_taken = false;
            bool is_ours = true;
            try {
                is_taken = true;
                is_ours =
                    capacity::take_step(runtime_, process, step) == capacity::StepResult::Taken;
            } catch (const std::exception& error) {
                is_taken = false;
                runtime_.log.warning(
                    "agents.step_failed", {{"node_id", step.node_id.str()}, {"error", error.what()}}
                );
            }
            post([this, step, is_taken, is_ours] { settle(step, is_taken, is_ours); });
        });
    }
}

void AgentLoop::add_link(
    http::Socket socket, std::string leftover, std::string source_ip, std::string greeting
) {
    auto owned = std::make_unique<Link>();
    Link& link = *owned;
    link.id = next_id_++;
    link.socket = std::move(socket);
    link.source_ip = std::move(source_ip);
    link.deadline_ms = runtime_.clock.steady_ms() + limits_.hello_ms;
    epoll_event event{};
    event.data.u64 = link.id;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, link.socket.fd(), &event) != 0) {
        return;  // out of memory for watches: the peer is closed and comes back
    }
    links_.emplace(link.id, std::move(owned));
    ++link_count_;
    ++stranger_count_;
    link.reader.feed(leftover);
    const std::uint64_t id = link.id;
    send(link, greeting);
    // TLS may hold bytes that the kernel no longer has, so what is there is used now.
    if (const auto found = links_.find(id); found != links_.end() && use_frames(*found->second)) {
        receive(*found->second);
    }
}

// Tells epoll what the link waits for.
void AgentLoop::watch(Link& link) {
    std::uint32_t wanted = link.phase == LinkPhase::Admitting ? 0U : EPOLLIN | EPOLLRDHUP;
    if (link.out_at < link.out.size()) {
        wanted |= EPOLLOUT;
    }
    if (wanted == link.watched) {
        return;
    }
    link.watched = wanted;
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = link.id;
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, link.socket.fd(), &event);
}

void AgentLoop::on_ready(Link& link, std::uint32_t events) {
    if ((events & (EPOLLOUT | EPOLLERR)) != 0 && !flush(link)) {
        return;
    }
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        receive(link);
    }
}

// Reads what is there and uses it. False: the link is gone.
bool AgentLoop::receive(Link& link) {
    std::array<char, kReadBytes> bytes;  // NOLINT: filled by receive
    while (true) {
        std::size_t received = 0;
        const http::Io io = link.socket.receive(bytes.data(), bytes.size(), received);
        if (io == http::Io::Closed || io == http::Io::Failed) {
            if (link.phase == LinkPhase::Hello) {
                failures_.count(link.source_ip, runtime_.clock.steady_ms());
            }
            close_link(link);
            return false;
        }
        if (io != http::Io::Done) {
            watch(link);
            return true;
        }
        if (link.phase == LinkPhase::Closing) {
            // All is said; what still comes is thrown away until the peer closes.
            link.thrown_away += received;
            if (link.thrown_away > kMaxThrownAway) {
                close_link(link);
                return false;
            }
            continue;
        }
        link.reader.feed(std::string_view(bytes.data(), received));
        if (!use_frames(link)) {
            return false;
        }
        // Others get their turn; epoll says again when there is more. Not so with TLS, which may
        // hold decrypted bytes: those are read now.
        if (link.phase == LinkPhase::Admitting || !link.socket.has_buffered()) {
            watch(link);
            return true;
        }
    }
}

void AgentLoop::send(Link& link, std::string_view bytes) {
    if (link.out.size() - link.out_at + bytes.size() > limits_.out_bytes) {
        ++dropped_;
        close_link(link);
        return;
    }
    if (link.out.empty() && link.phase == LinkPhase::Live) {
        link.deadline_ms = runtime_.clock.steady_ms() + limits_.send_ms;
    }
    link.out.append(bytes);
    flush(link);
}

// Sends what the socket takes. False: the link is gone.
bool AgentLoop::flush(Link& link) {
    while (link.out_at < link.out.size()) {
        std::size_t sent = 0;
        const http::Io io = link.socket.send(std::string_view(link.out).substr(link.out_at), sent);
        link.out_at += sent;
        if (io == http::Io::Closed || io == http::Io::Failed) {
            close_link(link);
            return false;
        }
        if (io != http::Io::Done) {
            watch(link);
            return true;
        }
    }
    link.out.clear();
    link.out_at = 0;
    if (link.phase == LinkPhase::Closing && !std::exchange(link.is_half_closed, true)) {
        link.socket.finish_sending();
    }
    watch(link);
    return true;
}

void AgentLoop::close_link(Link& link) {
    if (link.phase == LinkPhase::Hello || link.phase == LinkPhase::Admitting) {
        --stranger_count_;
    }
    // The node stays watched: its timer decides, not its socket.
    if (const auto found = link_of_node_.find(link.node);
        found != link_of_node_.end() && found->second == link.id) {
        link_of_node_.erase(found);
    }
    --link_count_;
    links_.erase(link.id);
}

void AgentLoop::close_node_link(const capacity::NodeId& id) {
    if (const auto found = link_of_node_.find(id); found != link_of_node_.end()) {
        close_link(*links_.at(found->second));
    }
}

void AgentLoop::adopt(const std::vector<capacity::WatchedNode>& nodes) {
    const std::int64_t now = runtime_.clock.steady_ms();
    for (const capacity::WatchedNode& node : nodes) {
        if (!watch_.has(node.id)) {
            watch_.watch(node, now);
        }
    }
}

void AgentLoop::let_go(
    const std::vector<capacity::NodeId>& gone, const std::vector<capacity::NodeId>& cut
) {
    for (const capacity::NodeId& id : gone) {
        watch_.forget(id);
        close_node_link(id);
    }
    for (const capacity::NodeId& id : cut) {
        close_node_link(id);
    }
}

void AgentLoop::let_go_of_all() {
    for (const capacity::NodeId& id : watch_.ids()) {
        watch_.forget(id);
        close_node_link(id);
    }
}

std::vector<std::pair<capacity::NodeId, std::int64_t>> AgentLoop::watched() const {
    std::vector<std::pair<capacity::NodeId, std::int64_t>> nodes;
    for (const capacity::NodeId& id : watch_.ids()) {
        nodes.emplace_back(id, watch_.find_epoch(id).value_or(0));
    }
    return nodes;
}

}  // namespace compute::daemon::agents
