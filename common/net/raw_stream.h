// A connection of our own that carries bytes: TCP, and TLS with verification for https addresses.
// For protocols that leave HTTP by an Upgrade.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace compute::net {

struct RawStreamOptions {
    std::string ca_file;  // empty: the system's
    std::chrono::milliseconds connect_timeout{5000};
};

// Used by one thread at a time. Non-blocking once connected. Closed by the destructor.
class RawStream {
public:
    // Resolves, connects and shakes hands; blocks for at most the time-out. INVALID_STATE saying
    // why it failed.
    RawStream(const std::string& url, const RawStreamOptions& options);
    RawStream(RawStream&&) noexcept;
    RawStream& operator=(RawStream&&) noexcept;
    ~RawStream();

    [[nodiscard]] int fd() const noexcept;
    enum class Io { Done, Again, Closed };
    // Reads until Again: with TLS the descriptor may not become readable for what is left.
    Io receive(char* to, std::size_t size, std::size_t& received);
    Io send(std::string_view bytes, std::size_t& sent);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::net
