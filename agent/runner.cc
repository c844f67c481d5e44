#include "agent/runner.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>
#include <variant>

#include <sys/epoll.h>
#include <unistd.h>

#include "config/checks.h"
#include "net/url.h"

namespace compute::agent {
namespace {

constexpr int kRoundMs = 100;
constexpr int kEventsPerRound = 256;
constexpr std::size_t kReadBytes = 16'384;
constexpr int kConnectsPerRound = 64;  // the others get their turn in between
constexpr std::uint64_t kInputTag = UINT64_MAX;

Times times_now() {
    return {
        boottime_ms(),
        std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch()
        )
            .count()};
}

}  // namespace

struct Runner::Node {
    Node(std::size_t index_in, Session session_in)
        : index(index_in), session(std::move(session_in)) {}

    std::size_t index;
    Session session;
    std::optional<net::RawStream> stream;
    std::string out;
    bool is_waiting_to_send = false;
    bool is_away = false;
    std::int64_t next_try_ms = 0;
    std::string last_fault;  // said once, not at every attempt
};

Server make_server(const std::string& base, const std::string& ca_file) {
    const net::UrlResult parsed = net::parse_url(base);
    const auto* url = std::get_if<net::Url>(&parsed);
    if (url == nullptr) {
        throw invalid_config("--url: " + std::get<std::string>(parsed));
    }
    if (!url->is_tls && !config::is_loopback_host(url->host)) {
        throw invalid_config(
            "--url: plain http is for this machine only; the credential goes over it",
            "use an https address"
        );
    }
    Server server;
    std::string path = url->target;
    while (path.ends_with('/')) {
        path.pop_back();
    }
    server.target = path + std::string(agent_protocol::kConnectPath);
    const bool is_v6 = url->host.find(':') != std::string::npos;
    server.host = (is_v6 ? "[" + url->host + "]" : url->host) + ":" + std::to_string(url->port);
    server.url = (url->is_tls ? "https://" : "http://") + server.host + "/";
    server.options.ca_file = ca_file;
    return server;
}

Runner::Runner(Server server, Rng& rng, Log& log)
    : server_(std::move(server)), rng_(rng), log_(log), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

Runner::~Runner() {
    nodes_.clear();
    ::close(epoll_);
}

std::size_t Runner::add(Identity identity, agent_protocol::Inventory inventory) {
    const std::size_t index = nodes_.size();
    nodes_.push_back(
        std::make_unique<Node>(index, Session(std::move(identity), server_.host, server_.target))
    );
    nodes_.back()->session.set_inventory(std::move(inventory));
    return index;
}

Session& Runner::session(std::size_t index) {
    return nodes_.at(index)->session;
}

void Runner::stay_away(std::size_t index) {
    Node& node = *nodes_.at(index);
    node.is_away = true;
    node.stream.reset();
    node.out.clear();
    (void)node.session.end(times_now(), rng_);
}

void Runner::come_back(std::size_t index) {
    Node& node = *nodes_.at(index);
    node.is_away = false;
    node.next_try_ms = 0;
}

void Runner::watch_input(int fd, std::function<void()> on_input) {
    input_fd_ = fd;
    on_input_ = std::move(on_input);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kInputTag;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
        // A plain file cannot be watched, and need not: it never makes anybody wait.
        while (input_fd_ >= 0) {
            on_input_();
        }
    }
}

void Runner::forget_input() {
    if (input_fd_ >= 0) {
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, std::exchange(input_fd_, -1), nullptr);
    }
}

void Runner::run(const Hooks& hooks) {
    std::array<epoll_event, kEventsPerRound> events{};
    is_over_ = false;
    while (!is_over_ && hooks.on_round()) {
        connect_due(hooks);
        const int count = ::epoll_wait(epoll_, events.data(), kEventsPerRound, kRoundMs);
        for (int i = 0; i < count && !is_over_; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            if (event.data.u64 == kInputTag) {
                on_input_();
                continue;
            }
            Node& node = *nodes_.at(event.data.u64);
            if (node.stream) {
                send(node, hooks);
            }
            if (node.stream) {
                receive(node, hooks);
            }
        }
        tick(hooks);
    }
}

void Runner::connect_due(const Hooks& hooks) {
    int connects = 0;
    const std::int64_t now = boottime_ms();
    for (const auto& node : nodes_) {
        if (is_over_ || connects == kConnectsPerRound) {
            return;
        }
        if (!node->stream && !node->is_away && now >= node->next_try_ms) {
            ++connects;
            connect(*node, hooks);
        }
    }
}

void Runner::connect(Node& node, const Hooks& hooks) {
    try {
        node.stream.emplace(server_.url, server_.options);
    } catch (const ComputeError& error) {
        if (std::exchange(node.last_fault, error.message()) != error.message()) {
            log_.warning(
                "agent.not_connected",
                {{"name", node.session.identity().name}, {"reason", error.message()}}
            );
        }
        node.next_try_ms = node.session.end(times_now(), rng_);
        return;
    }
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = node.index;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, node.stream->fd(), &event) != 0) {
        throw internal_error("epoll_ctl: " + std::generic_category().message(errno));
    }
    node.is_waiting_to_send = false;
    node.out.clear();
    node.session.begin();
    send(node, hooks);
}

void Runner::send(Node& node, const Hooks& hooks) {
    node.out += node.session.take_output();
    std::size_t at = 0;
    bool is_full = false;
    while (at < node.out.size() && !is_full) {
        std::size_t sent = 0;
        const auto io = node.stream->send(std::string_view(node.out).substr(at), sent);
        at += sent;
        if (io == net::RawStream::Io::Closed) {
            disconnect(node, hooks);
            return;
        }
        is_full = io == net::RawStream::Io::Again;
    }
    node.out.erase(0, at);
    if (node.out.empty() == node.is_waiting_to_send) {
        node.is_waiting_to_send = !node.out.empty();
        epoll_event event{};
        event.events = EPOLLIN | EPOLLRDHUP;
        if (node.is_waiting_to_send) {
            event.events |= EPOLLOUT;
        }
        event.data.u64 = node.index;
        ::epoll_ctl(epoll_, EPOLL_CTL_MOD, node.stream->fd(), &event);
    }
}

void Runner::receive(Node& node, const Hooks& hooks) {
    std::array<char, kReadBytes> bytes;  // NOLINT: filled by receive
    while (node.stream) {
        std::size_t received = 0;
        const auto io = node.stream->receive(bytes.data(), bytes.size(), received);
        if (io == net::RawStream::Io::Again) {
            return;
        }
        if (io == net::RawStream::Io::Closed) {
            disconnect(node, hooks);
            return;
        }
        const bool was_live = node.session.is_live();
        if (!node.session.take({bytes.data(), received}, times_now())) {
            disconnect(node, hooks);
            return;
        }
        after_input(node, hooks, was_live);
    }
}

void Runner::after_input(Node& node, const Hooks& hooks, bool was_live) {
    // Stored before the next word is said: a credential that is lost cannot be asked for again.
    if (node.session.take_new_credential()) {
        hooks.on_credential(node.index);
    }
    if (!was_live && node.session.is_live()) {
        node.last_fault.clear();
        hooks.on_live(node.index);
    }
    send(node, hooks);
}

void Runner::disconnect(Node& node, const Hooks& hooks) {
    node.stream.reset();  // which takes it out of the epoll set, too
    node.out.clear();
    const auto refusal = node.session.refusal();
    node.next_try_ms = node.session.end(times_now(), rng_);
    if (refusal) {
        if (std::exchange(node.last_fault, refusal->message) != refusal->message) {
            log_.warning(
                "agent.refused",
                {{"name", node.session.identity().name},
                 {"code", refusal->code},
                 {"reason", refusal->message}}
            );
        }
        is_over_ = hooks.on_refused(node.index, *refusal) || is_over_;
    }
}

void Runner::tick(const Hooks& hooks) {
    const Times now = times_now();
    for (const auto& node : nodes_) {
        node->session.tick(now);
        if (node->session.take_fenced()) {
            hooks.on_fenced(node->index);
        }
        if (node->stream) {
            send(*node, hooks);
        }
    }
}

}  // namespace compute::agent
