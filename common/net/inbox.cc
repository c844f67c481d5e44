#include "net/inbox.h"

#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "core/error.h"

namespace compute::net {

Inbox::Inbox() : event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (event_fd_ < 0) {
        throw internal_error("eventfd failed");
    }
}

Inbox::~Inbox() {
    ::close(event_fd_);
}

bool Inbox::put(Command command) {
    const std::lock_guard lock(mutex_);
    if (is_closed_ && std::holds_alternative<Attempt>(command)) {
        return false;
    }
    commands_.push_back(std::move(command));
    signal();
    return true;
}

bool Inbox::put(std::vector<Attempt>& attempts) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
        return false;
    }
    for (Attempt& attempt : attempts) {
        commands_.emplace_back(std::move(attempt));
    }
    signal();
    return true;
}

std::vector<Command> Inbox::take() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_signalled_, false)) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(event_fd_, &count, sizeof count);
    }
    return std::exchange(commands_, {});
}

void Inbox::close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    signal();
}

void Inbox::break_off() {
    is_broken_off_ = true;
    const std::lock_guard lock(mutex_);
    signal();
}

bool Inbox::is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
}

void Inbox::signal() {
    if (std::exchange(is_signalled_, true)) {
        return;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(event_fd_, &one, sizeof one);
}

}  // namespace compute::net
