// What stands behind the HTTP server: routes, and a function from a checked request to an answer.
// The server knows no method, no envelope and no JSON beyond the bodies of its own refusals.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "crypto/secret.h"

namespace compute::daemon::http {

inline constexpr std::size_t kMaxBodyBytes = 65536;
inline constexpr std::size_t kMaxHeaderFields = 100;

enum class RouteKind {
    Call,   // POST, JSON content type and X-Better-Compute: 1
    Plain,  // GET, no body expected
};

// A request that has passed every check of the transport.
struct Request {
    RouteKind kind = RouteKind::Call;
    std::string target;        // the raw target; equals a route byte for byte
    std::string request_id;    // echoed or made
    std::string source_ip;     // of the peer, or of the last forwarded hop behind a proxy
    bool is_loopback = false;  // judged on source_ip
    bool is_admin = false;     // came in on the admin listener
    std::optional<crypto::Secret> credential;  // of `Authorization: Bearer`
    std::string body;
    // True once the peer is gone, the process stops, or too many calls wait already. Cheap; call it
    // from the handling thread.
    std::function<bool()> abort;
    // To be told when the handler starts and stops waiting; the server starts another worker
    // meanwhile.
    std::function<void(bool is_waiting)> on_wait;
};

struct Answer {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers;  // more than the server's own
};

// The answer of a failed request: body, status, and Retry-After in whole seconds rounded up.
[[nodiscard]] Answer error_answer(const ComputeError& error);

class UpgradedStream;

// Takes over connections that ask for an HTTP/1.1 Upgrade of one target.
class UpgradeHandler {
public:
    virtual ~UpgradeHandler() = default;
    struct Offer {
        std::string target;
        std::string protocol;  // the Upgrade field
        std::string request_id;
        std::string source_ip;
        std::optional<crypto::Secret> credential;
    };
    // Called on a worker with nothing sent yet. Either returns an answer (a refusal, sent by the
    // server, connection closed) and leaves `stream` alone, or moves it away, sends its own 101,
    // and returns nullopt soon: the worker is not lent.
    virtual std::optional<Answer> take(
        const Offer& offer, std::unique_ptr<UpgradedStream>& stream
    ) = 0;
};

// All functions are called from several threads.
class Handler {
public:
    virtual ~Handler() = default;
    // What is at `target` (compared byte for byte); nullopt: nothing, 404. Called on the event
    // thread: no I/O.
    [[nodiscard]] virtual std::optional<RouteKind> find_route(
        std::string_view target, bool is_admin
    ) const = 0;
    // Who takes upgrades at `target`; null: nobody, an Upgrade field is then ignored.
    [[nodiscard]] virtual UpgradeHandler* find_upgrade(std::string_view /*target*/) const {
        return nullptr;
    }
    // Answers a request, on a worker. Must not throw; what does is answered as INTERNAL_ERROR.
    [[nodiscard]] virtual Answer handle(const Request& request) = 0;
};

}  // namespace compute::daemon::http
