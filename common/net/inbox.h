// What other threads leave for the sender's loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <variant>
#include <vector>

#include "net/resolver.h"
#include "net/sender.h"

namespace compute::net {

class Exchange;

struct Resume {
    LaneKey lane;
};
struct DropLane {
    LaneKey lane;
};
struct Resolved {
    Exchange* exchange;
    std::uint64_t serial;
    ResolveResult result;
};
using Command = std::variant<Attempt, Resume, DropLane, Resolved>;

// Where other threads leave work for the loop. Shared with the resolver's callbacks, which can come
// after the sender is gone.
class Inbox {
public:
    Inbox();
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    // False once closed: nothing was taken.
    bool put(Command command);
    bool put(std::vector<Attempt>& attempts);
    // What was put since the last call.
    [[nodiscard]] std::vector<Command> take();
    // Attempts are refused from now on.
    void close();
    void break_off();
    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] bool is_broken_off() const { return is_broken_off_; }
    [[nodiscard]] int event_fd() const noexcept { return event_fd_; }

private:
    void signal();  // with the mutex held

    const int event_fd_;
    mutable std::mutex mutex_;
    std::vector<Command> commands_;
    bool is_closed_ = false;
    bool is_signalled_ = false;
    std::atomic<bool> is_broken_off_ = false;
};

}  // namespace compute::net
