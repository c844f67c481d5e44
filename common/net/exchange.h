// One request and its answer on one libcurl handle. The handle is used again for later attempts, so
// its TLS sessions and buffers are kept. Everything that libcurl calls back is here; the loop in
// sender_loop.h decides when an exchange starts and ends.
#pragma once

#include <array>
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "net/answer_reader.h"
#include "net/curl_support.h"
#include "net/header_block.h"
#include "net/sender.h"
#include "net/socket_table.h"

namespace compute::net {

using SteadyTime = std::chrono::steady_clock::time_point;

// Not thread-safe; neither copied nor moved: libcurl holds its address.
class Exchange {
public:
    Exchange(const std::string& ca_file, SocketTable& sockets);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    // Takes the attempt; its deadline begins at `now`.
    void begin(Attempt attempt, SteadyTime now);
    // Sets the handle up to connect to one of `addresses` and nothing else. `pins` are
    // CURLOPT_RESOLVE entries, which may be none.
    void prepare(std::vector<IpAddress> addresses, StringList pins, SteadyTime now);
    // The kept connection went to an address that is no longer the host's; nothing was sent. Sets
    // the handle up for a fresh connection.
    void prepare_fresh(SteadyTime now);

    [[nodiscard]] bool needs_fresh_connection(CURLcode code) const noexcept;
    [[nodiscard]] bool is_answered() const noexcept { return reader_.status().has_value(); }
    [[nodiscard]] SteadyTime deadline() const noexcept { return started_ + attempt_.timeout; }
    [[nodiscard]] std::chrono::milliseconds time_left(SteadyTime now) const noexcept;

    // The result, when the answer counts or the transfer ended with `code`.
    [[nodiscard]] AttemptResult result(CURLcode code, SteadyTime now) const;
    // A result without a transfer.
    [[nodiscard]] AttemptResult failure(std::string error, std::string detail, SteadyTime now)
        const;

    [[nodiscard]] CURL* handle() const noexcept { return handle_.get(); }
    [[nodiscard]] const Attempt& attempt() const noexcept { return attempt_; }
    [[nodiscard]] HeaderBlock& headers() noexcept { return headers_; }
    [[nodiscard]] static Exchange& of(CURL* handle);

    // The loop's own marks.
    enum class Phase { Idle, Resolving, Sending, Draining };
    Phase phase = Phase::Idle;
    std::uint64_t serial = 0;  // tells a late resolver's answer from one for this attempt
    std::optional<SteadyTime> timer;
    std::list<Exchange*>::iterator position;  // in the loop's list of idle or busy ones
    std::optional<LaneKey> last_lane;
    std::string pin_key;
    // Called once when the header block of the final answer is in.
    std::vector<Exchange*>* answered = nullptr;

private:
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address);
    static int on_close(void* sockets, curl_socket_t fd);
    static int on_ready(void* self, char* remote, char* local, int remote_port, int local_port);

    void clear_answer();
    [[nodiscard]] bool is_vetted(const IpAddress& address) const noexcept;
    void describe_failure(CURLcode code, AttemptResult& out) const;
    [[nodiscard]] Timings timings(SteadyTime now) const;

    SocketTable& sockets_;
    EasyHandle handle_;
    HeaderBlock headers_;
    Attempt attempt_;
    std::shared_ptr<const Url> handle_url_;  // what CURLOPT_URL holds
    std::vector<IpAddress> vetted_;
    StringList pins_;
    AnswerReader reader_;
    std::array<char, CURL_ERROR_SIZE> message_{};
    SteadyTime started_;
    SteadyTime transfer_started_;
    bool is_peer_refused_ = false;  // a connection went to an address that was not vetted
    bool is_connection_stale_ =
        false;                 // a kept one that was closed, or that has bytes nobody asked for
    bool is_sending_ = false;  // the request may have begun to leave
    bool is_retried_ = false;
};

}  // namespace compute::net
