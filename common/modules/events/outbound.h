// What the engine needs of a sending loop. net::Sender stands behind it in production, a script in
// tests.
#pragma once

#include <chrono>
#include <vector>

#include "net/sender.h"

namespace compute::events {

// Thread-safe. The meaning of each function is net::Sender's.
class Outbound {
public:
    virtual ~Outbound() = default;
    virtual void submit(std::vector<net::Attempt> attempts) = 0;
    virtual void resume(net::LaneKey lane) = 0;
    virtual void drop_lane(net::LaneKey lane) = 0;
};

class SenderOutbound final : public Outbound {
public:
    explicit SenderOutbound(net::Sender& sender) : sender_(sender) {}
    void submit(std::vector<net::Attempt> attempts) override {
        sender_.submit(std::move(attempts));
    }
    void resume(net::LaneKey lane) override { sender_.resume(lane); }
    void drop_lane(net::LaneKey lane) override { sender_.drop_lane(lane); }

private:
    net::Sender& sender_;
};

}  // namespace compute::events
