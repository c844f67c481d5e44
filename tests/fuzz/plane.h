// The whole control plane behind its HTTP surface, without sockets: what the server would hand over
// once a request has passed the transport's checks.
#pragma once

#include <memory>
#include <string>

#include "daemon/api.h"
#include "daemon/compute.h"
#include "daemon/health.h"

#include "tests/support/fake_clock.h"
#include "tests/support/seeded_rng.h"
#include "tests/support/spy_iam.h"
#include "tests/support/test_database.h"

namespace compute::fuzz {

class FuzzPlane {
public:
    explicit FuzzPlane(store::Engine engine);

    struct Outcome {
        daemon::http::Answer answer;
        double cpu_ms = 0;  // of the thread that answers
    };
    [[nodiscard]] Outcome send(
        const std::string& path, const std::string& body, const std::string& credential
    );
    [[nodiscard]] const method::Registry& registry() const { return compute_->registry(); }

private:
    support::TestDatabase database_;
    support::FakeClock clock_;
    support::SeededRng rng_;
    support::SpyIam iam_;
    std::unique_ptr<daemon::Compute> compute_;
    std::unique_ptr<daemon::Health> health_;
    std::unique_ptr<daemon::Api> api_;
    int sent_ = 0;
};

// What was sent to one method, and what came of it.
struct MethodReport {
    std::int64_t sent = 0;
    std::int64_t accepted = 0;  // answered 200
    double worst_ms = 0;        // the slowest, at its best of three
    std::size_t worst_bytes = 0;
    std::vector<std::string> faults;  // a body each, with what is wrong
};

struct RunOptions {
    std::uint64_t seed = 1;
    std::int64_t bodies = 100;  // for the method
    double slow_ms = 10;
};

// Sends bodies of a BodyMaker. An answer is right when it is 200 with data, or an error of the
// settled table that a caller can cause, with that error's status.
[[nodiscard]] MethodReport run_method(
    FuzzPlane& plane, const std::string& path, const RunOptions& options
);

}  // namespace compute::fuzz
