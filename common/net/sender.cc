#include "net/sender.h"

#include <utility>

#include "net/sender_loop.h"

namespace compute::net {

Sender::Sender(SenderOptions options, SenderOwner& owner, Resolver& resolver, Log& log)
    : loop_(std::make_unique<Loop>(std::move(options), owner, resolver, log)) {}

Sender::~Sender() = default;

void Sender::submit(Attempt attempt) {
    const Attempt copy = attempt;
    if (!loop_->inbox().put(std::move(attempt))) {
        loop_->cancel(copy);
    }
}

void Sender::submit(std::vector<Attempt> attempts) {
    if (!loop_->inbox().put(attempts)) {
        for (const Attempt& attempt : attempts) {
            loop_->cancel(attempt);
        }
    }
}

void Sender::resume(LaneKey lane) {
    loop_->inbox().put(Resume{lane});
}

void Sender::drop_lane(LaneKey lane) {
    loop_->inbox().put(DropLane{lane});
}

void Sender::begin_stop() {
    loop_->inbox().close();
}

void Sender::stop(std::chrono::milliseconds bound) {
    begin_stop();
    loop_->join(bound);
}

}  // namespace compute::net
