#include "net/socket_table.h"

#include <algorithm>
#include <cerrno>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace compute::net {
namespace {

std::uint16_t local_port_of(int fd) {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return 0;
    }
    return ntohs(address.sin6_port);  // at the same place for both families
}

bool is_untouched(int fd) {
    char byte = 0;
    const ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && errno == EAGAIN;
}

}  // namespace

int SocketTable::open(int family, int type, int protocol) {
    const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    if (fd >= 0) {
        unnamed_.push_back(fd);
    }
    return fd;
}

void SocketTable::close(int fd) {
    unnamed_.erase(std::remove(unnamed_.begin(), unnamed_.end(), fd), unnamed_.end());
    if (const auto found = by_fd_.find(fd); found != by_fd_.end()) {
        by_endpoints_.erase(found->second);
        by_fd_.erase(found);
    }
    watch(fd) = {};
    ::close(fd);
}

SocketTable::Watch& SocketTable::watch(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= watches_.size()) {
        watches_.resize(index + 1);
    }
    return watches_[index];
}

SocketTable::State SocketTable::check(const Endpoints& endpoints) {
    if (const auto found = by_endpoints_.find(endpoints); found != by_endpoints_.end()) {
        return is_untouched(found->second) ? State::Clean : State::Dirty;
    }
    const auto fd = std::find_if(unnamed_.begin(), unnamed_.end(), [&](int each) {
        return local_port_of(each) == endpoints.local_port;
    });
    if (fd != unnamed_.end()) {
        by_endpoints_.emplace(endpoints, *fd);
        by_fd_.emplace(*fd, endpoints);
        unnamed_.erase(fd);
    }
    return State::New;
}

}  // namespace compute::net
