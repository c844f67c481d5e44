// One connection of an agent, as the loop keeps it.
#pragma once

#include <cstdint>
#include <string>

#include "agent_protocol/frame.h"
#include "daemon/http/socket.h"
#include "modules/capacity/node_row.h"

namespace compute::daemon::agents {

enum class LinkPhase {
    Hello,      // a stranger: one frame, within the time for it
    Admitting,  // its hello is being judged; nothing is read
    Live,       // speaks for `node`
    Closing,    // told why; goes when that is sent and the peer has closed, or after a while
};

struct Link {
    std::uint64_t id = 0;
    http::Socket socket;
    std::string source_ip;
    LinkPhase phase = LinkPhase::Hello;
    std::int64_t deadline_ms = 0;  // steady; of Hello, Closing, and of bytes that wait to be sent
    agent_protocol::FrameReader reader;
    std::string out;
    std::size_t out_at = 0;
    bool is_half_closed = false;
    std::size_t thrown_away = 0;
    std::uint32_t watched = 0;  // what epoll is told

    capacity::NodeId node;
    std::int64_t epoch = 0;
    // How many frames came in the second that began at `second_ms`.
    std::int64_t second_ms = 0;
    int frames = 0;
};

}  // namespace compute::daemon::agents
