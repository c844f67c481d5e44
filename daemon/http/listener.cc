#include "daemon/http/listener.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/checks.h"
#include "core/error.h"
#include "daemon/http/server.h"

namespace compute::daemon::http {
namespace {

constexpr int kBacklog = 4096;

struct FreeAddresses {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const std::string& address, std::string& reason) {
    const auto where = config::find_host_port(address);
    if (!where) {
        throw invalid_config(
            "listen: \"" + address + "\" is not HOST:PORT", "for example 127.0.0.1:8420"
        );
    }
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int failed =
        getaddrinfo(where->host.c_str(), std::to_string(where->port).c_str(), &hints, &list);
    if (failed != 0) {
        reason = gai_strerror(failed);
        return nullptr;
    }
    return Addresses(list);
}

int bind_one(const addrinfo& address) {
    const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) {
        return fd;
    }
    const int reason = errno;
    ::close(fd);
    errno = reason;
    return -1;
}

std::string reason_of(int error) {
    return std::generic_category().message(error);
}

}  // namespace

int open_listener(const std::string& address) {
    std::string reason;
    const Addresses list = resolve(address, reason);
    for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
        const int fd = bind_one(*one);
        if (fd >= 0) {
            return fd;
        }
        reason = reason_of(errno);
    }
    throw invalid_config(
        "listen: cannot listen on " + address + ": " + reason, "choose a free port, or 0 for any"
    );
}

std::string bound_address(int listener) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    void* raw = &address;
    if (::getsockname(listener, static_cast<sockaddr*>(raw), &size) != 0 ||
        ::getnameinfo(
            static_cast<sockaddr*>(raw),
            size,
            host.data(),
            host.size(),
            port.data(),
            port.size(),
            NI_NUMERICHOST | NI_NUMERICSERV
        ) != 0) {
        throw internal_error("getsockname: " + reason_of(errno));
    }
    const std::string name = host.data();
    const bool is_v6 = name.find(':') != std::string::npos;
    return (is_v6 ? "[" + name + "]" : name) + ":" + port.data();
}

std::string peer_address(const void* address, unsigned int size) {
    std::array<char, NI_MAXHOST> host{};
    const auto* raw = static_cast<const sockaddr*>(address);
    if (::getnameinfo(raw, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
        return {};
    }
    constexpr std::string_view kMapped = "::ffff:";
    const std::string_view text = host.data();
    if (text.starts_with(kMapped) && text.find('.') != std::string_view::npos) {
        return std::string(text.substr(kMapped.size()));
    }
    return std::string(text.substr(0, text.find('%')));
}

void raise_file_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

}  // namespace compute::daemon::http
