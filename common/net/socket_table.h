// The sockets of one sender's connections, found again by where they lead. libcurl 7.88 takes a
// kept connection for usable although its peer has closed it or has sent something nobody asked
// for, and does not tell which socket it is about to use.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "net/address.h"

namespace compute::net {

struct Endpoints {
    IpAddress remote;
    std::uint16_t remote_port = 0;
    std::uint16_t local_port = 0;
    friend auto operator<=>(const Endpoints&, const Endpoints&) = default;
};

// Of the loop's thread alone; outlives its connections.
class SocketTable {
public:
    enum class State {
        New,    // not seen before
        Clean,  // kept, and nothing has happened on it
        Dirty,  // kept, and closed or with unread bytes: the next answer would not be ours
    };

    // A socket, not connected; negative when there is none to be had.
    [[nodiscard]] int open(int family, int type, int protocol);
    void close(int fd);
    // What the event loop is asked to watch, and what it watches (EPOLLIN, EPOLLOUT; 0: nothing).
    // Forgotten when the socket is closed.
    struct Watch {
        unsigned wanted = 0;
        unsigned registered = 0;
    };
    [[nodiscard]] Watch& watch(int fd);
    // What is known of the connection about to be used.
    [[nodiscard]] State check(const Endpoints& endpoints);

private:
    std::vector<int> unnamed_;  // opened, not yet checked
    std::map<Endpoints, int> by_endpoints_;
    std::map<int, Endpoints> by_fd_;
    std::vector<Watch> watches_;  // by descriptor
};

}  // namespace compute::net
