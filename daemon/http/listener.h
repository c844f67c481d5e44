// Sockets that listen.
#pragma once

#include <string>

namespace compute::daemon::http {

// Binds HOST:PORT and listens with a long backlog; the descriptor is non-blocking and closed on
// exec. INVALID_CONFIG naming the address and the reason otherwise.
[[nodiscard]] int open_listener(const std::string& address);

// "127.0.0.1:41234", "[::1]:41234": what the socket is bound to.
[[nodiscard]] std::string bound_address(int listener);

// The numeric address of the peer, without a port; an IPv4 address that came in over IPv6 as IPv4.
[[nodiscard]] std::string peer_address(const void* address, unsigned int size);

}  // namespace compute::daemon::http
