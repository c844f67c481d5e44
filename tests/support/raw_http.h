// A client that sends exactly the bytes a test says, plain or over TLS, and reads what comes back.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/socket.h"

struct ssl_ctx_st;

namespace compute::support {

struct RawAnswer {
    int status = 0;
    std::map<std::string, std::string> fields;  // names in lower case
    std::string body;

    [[nodiscard]] std::string field(const std::string& name) const {
        const auto found = fields.find(name);
        return found == fields.end() ? "" : found->second;
    }
};

enum class Wire { Plain, Tls };

// One connection. Throws std::runtime_error when it cannot connect. Every read has a deadline, so
// that a test fails instead of hanging.
class RawHttp {
public:
    static constexpr std::chrono::milliseconds kPatience{10'000};

    // `address` is 127.0.0.1:PORT. Certificates are not verified.
    explicit RawHttp(const std::string& address, Wire wire = Wire::Plain);

    // Sends all of it; false when the server has closed.
    bool send(std::string_view bytes);
    // The next answer, also of several that came at once; nullopt when the connection ended or
    // nothing whole came in time. `to_head`: the answer has no body whatever it announces.
    [[nodiscard]] std::optional<RawAnswer> read_answer(bool to_head = false);
    // The next bytes as they are, at least one; empty at the end or when nothing came in time.
    [[nodiscard]] std::string read_some(std::chrono::milliseconds patience = kPatience);
    // Whether the server closes within `patience`; what it sends until then is thrown away.
    [[nodiscard]] bool is_closed_within(std::chrono::milliseconds patience);
    // Whether the server has closed, without waiting.
    [[nodiscard]] bool is_closed() { return is_closed_within(std::chrono::milliseconds(0)); }
    void finish_sending() { socket_.finish_sending(); }
    void close() { socket_.close(); }

    // One exchange on this connection.
    [[nodiscard]] std::optional<RawAnswer> ask(std::string_view request) {
        send(request);
        return read_answer();
    }

private:
    bool wait(short events, std::chrono::steady_clock::time_point end) const;
    // False at the end of the connection or at `end`.
    bool read_more(std::chrono::steady_clock::time_point end);

    daemon::http::Socket socket_;
    std::string in_;
    bool is_ended_ = false;
};

// A POST with the fields that the transport wants; `extra` are whole lines with CR LF.
[[nodiscard]] std::string post(
    std::string_view target, std::string_view body = "{}", std::string_view extra = ""
);

}  // namespace compute::support
