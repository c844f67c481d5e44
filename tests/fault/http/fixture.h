// A server with a handler that the test scripts, and clients for it.
#pragma once

#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "crypto/crypto.h"
#include "daemon/http/server.h"

#include "tests/support/memory_log.h"
#include "tests/support/raw_http.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_certificates.h"

namespace compute::daemon::http {

using support::post;
using support::RawAnswer;
using support::RawHttp;
using support::Wire;

// POST /call answers {"data":<length of the body>}, POST /echo the body, POST /fail throws, GET
// /plain "plain", POST /wait waits until told, aborted, or released by the test. Targets of
// upgrades: /upgrade (taken and echoed back once), /refuse.
class ScriptedHandler final : public Handler {
public:
    [[nodiscard]] std::optional<RouteKind> find_route(std::string_view target, bool is_admin)
        const override;
    [[nodiscard]] UpgradeHandler* find_upgrade(std::string_view target) const override;
    [[nodiscard]] Answer handle(const Request& request) override;

    [[nodiscard]] Request last() const {
        const std::lock_guard lock(mutex_);
        return last_;
    }
    [[nodiscard]] int handled() const {
        const std::lock_guard lock(mutex_);
        return handled_;
    }
    // Of /wait.
    void release();
    [[nodiscard]] bool wait_for_waiting(int count);
    [[nodiscard]] bool wait_for_ended(int count);
    [[nodiscard]] int aborted() const {
        const std::lock_guard lock(mutex_);
        return aborted_;
    }

private:
    Answer wait(const Request& request);

    mutable std::mutex mutex_;
    std::condition_variable changed_;  // for the test: something was counted
    std::condition_variable
        released_;  // for those that wait; apart, or each arrival would wake all of them
    Request last_;
    int handled_ = 0;
    int waiting_ = 0;
    int ended_ = 0;
    int aborted_ = 0;
    bool is_released_ = false;
};

class HttpFault : public ::testing::TestWithParam<Wire> {
protected:
    // Starts the server; short time-outs unless said otherwise.
    void start(Limits limits = short_limits(), bool is_behind_proxy = false);
    [[nodiscard]] static Limits short_limits() {
        Limits limits;
        limits.workers = 2;
        return limits;
    }
    [[nodiscard]] RawHttp connect() const { return RawHttp(server_->address(), GetParam()); }
    // One request on a connection of its own.
    [[nodiscard]] std::optional<RawAnswer> ask(std::string_view request) const;
    // What a head that breaks a rule gets: the status, with the connection closed behind the
    // answer. 0 when either is missing.
    [[nodiscard]] int refused_with(std::string_view request) const;

    ScriptedHandler handler_;
    support::MemoryLog log_;
    SystemClock clock_;
    std::shared_ptr<TlsContext> tls_;
    support::TempFolder folder_;
    std::unique_ptr<HttpServer> server_;
};

inline std::string wire_name(const ::testing::TestParamInfo<Wire>& info) {
    return info.param == Wire::Plain ? "Plain" : "Tls";
}

}  // namespace compute::daemon::http
