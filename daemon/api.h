// Between HTTP and the control plane: which paths there are, and how a request becomes a call and
// an outcome an answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/compute.h"
#include "daemon/health.h"
#include "daemon/http/handler.h"
#include "daemon/http/server.h"
#include "daemon/rate_limit.h"

namespace compute::daemon {

// Thread-safe.
class Api final : public http::Handler {
public:
    enum class Offer { Methods, HealthOnly };  // HealthOnly: a process without the api role

    // `compute` and `health` outlive it.
    Api(Compute& compute, Health& health, Offer offer);

    // Where /metrics reads the server's figures; set before requests come.
    void set_server_stats(std::function<http::ServerStats()> stats) {
        server_stats_ = std::move(stats);
    }

    // Who takes the connections of agents; set before requests come. Outlives the server.
    void set_agents(http::UpgradeHandler& agents) { agents_ = &agents; }

    [[nodiscard]] http::UpgradeHandler* find_upgrade(std::string_view target) const override;
    [[nodiscard]] std::optional<http::RouteKind> find_route(std::string_view target, bool is_admin)
        const override;
    [[nodiscard]] http::Answer handle(const http::Request& request) override;

private:
    [[nodiscard]] http::Answer handle_call(const http::Request& request);
    [[nodiscard]] http::Answer handle_plain(const http::Request& request);
    [[nodiscard]] http::Answer ready_answer();
    void check_rate(const http::Request& request);

    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };

    Compute& compute_;
    Health& health_;
    std::string agents_target_;
    http::UpgradeHandler* agents_ = nullptr;
    std::unordered_map<std::string, std::string, TextHash, std::equal_to<>>
        methods_;  // target -> method path
    std::optional<RateLimit> rate_limit_;
    std::function<http::ServerStats()> server_stats_ = [] { return http::ServerStats{}; };
};

}  // namespace compute::daemon
