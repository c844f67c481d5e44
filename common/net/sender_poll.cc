// The sender's waiting: which sockets, and how long.
#include <algorithm>
#include <array>

#include <sys/epoll.h>

#include "net/sender_loop.h"

namespace compute::net {
namespace {

constexpr int kMaxEvents = 256;

}  // namespace

// The time-out is asked for each time: libcurl does not repeat one that has not changed.
void Sender::Loop::wait() {
    long timeout = -1;
    curl_multi_timeout(multi_.get(), &timeout);
    if (!timers_.empty()) {
        const auto left = timers_.begin()->first - std::chrono::steady_clock::now();
        const auto ms =
            std::max<long>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count());
        timeout = timeout < 0 ? ms : std::min(timeout, ms);
    }
    if (!ready_.empty() &&
        (!idle_.empty() || exchanges_.size() < static_cast<std::size_t>(options_.max_in_flight))) {
        timeout = 0;
    }
    std::array<epoll_event, kMaxEvents> events{};
    const int bounded = static_cast<int>(std::min<long>(timeout, 60'000));
    const int count = epoll_wait(epoll_fd_, events.data(), kMaxEvents, bounded);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == inbox_->event_fd()) {
            continue;
        }
        if (SocketTable::Watch& watch = sockets_.watch(event.data.fd); watch.wanted == 0) {
            epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, event.data.fd, nullptr);
            watch.registered = 0;
            continue;
        }
        const unsigned what = event.events;
        const int flags = ((what & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                          ((what & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                          ((what & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
        int running = 0;
        curl_multi_socket_action(multi_.get(), event.data.fd, flags, &running);
    }
}

// A kept connection stays registered between its requests: libcurl takes its interest back after
// each and gives it again with the next, which would be three system calls a request. What happens
// on it meanwhile ends the registration, and is found when it is used again.
int Sender::Loop::
    on_socket(CURL* /*easy*/, curl_socket_t fd, int what, void* self, void* /*known*/) {
    auto& loop = *static_cast<Loop*>(self);
    SocketTable::Watch& watch = loop.sockets_.watch(fd);
    watch.wanted = 0;
    if (what != CURL_POLL_REMOVE) {
        watch.wanted = ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) |
                       ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U);
    }
    if (watch.wanted != 0 && watch.wanted != watch.registered) {
        epoll_event event{};
        event.data.fd = fd;
        event.events = watch.wanted;
        const int first = watch.registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
        if (epoll_ctl(loop.epoll_fd_, first, fd, &event) != 0) {
            epoll_ctl(
                loop.epoll_fd_, first == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event
            );
        }
        watch.registered = watch.wanted;
    }
    return 0;
}

}  // namespace compute::net
