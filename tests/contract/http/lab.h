// A control plane behind real HTTP, with a module made for the rows of the contract and an IAM that
// the test scripts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "crypto/crypto.h"
#include "daemon/api.h"
#include "daemon/compute.h"
#include "daemon/health.h"
#include "daemon/http/server.h"

#include "tests/support/fake_clock.h"
#include "tests/support/memory_log.h"
#include "tests/support/raw_http.h"
#include "tests/support/spy_iam.h"
#include "tests/support/test_database.h"

namespace compute::daemon {

// The module `lab`: things/echo (mutation: answers its input), things/get (read), things/fail
// (mutation: throws the error of its input {code, message?, details?}), things/crash (throws what
// is no ComputeError), things/start (mutation with poll, never done), status/get (public). The
// plugin `acme`: widgets/poke.
[[nodiscard]] std::vector<method::Module> lab_modules();

class HttpLab {
public:
    explicit HttpLab(store::Engine engine, config::Config config = {});
    ~HttpLab();
    HttpLab(const HttpLab&) = delete;
    HttpLab& operator=(const HttpLab&) = delete;

    [[nodiscard]] std::string address() const { return server_->address(); }
    [[nodiscard]] support::RawAnswer send(const std::string& request) const;
    // POST {base}/`path` as `credential`; empty: none.
    [[nodiscard]] support::RawAnswer call(
        const std::string& path, const Json& input, const std::string& credential = "admin:acme"
    ) const;
    [[nodiscard]] static std::string request(
        const std::string& path,
        const std::string& body,
        const std::string& credential = "admin:acme"
    );
    [[nodiscard]] Compute& compute() { return *compute_; }
    [[nodiscard]] http::HttpServer& server() { return *server_; }

    SystemClock clock;
    support::MemoryLog log;
    support::SpyIam iam;

private:
    support::TestDatabase database_;
    std::vector<method::Module> modules_;
    std::unique_ptr<Compute> compute_;
    std::unique_ptr<Health> health_;
    std::unique_ptr<Api> api_;
    std::unique_ptr<http::HttpServer> server_;
};

class HttpRows : public ::testing::TestWithParam<store::Engine> {};

}  // namespace compute::daemon
