#include "tests/fuzz/plane.h"

#include <algorithm>
#include <ctime>
#include <functional>

#include "core/log.h"

#include "tests/fuzz/bodies.h"

namespace compute::fuzz {
namespace {

constexpr std::size_t kShownBytes = 2'000;
constexpr std::size_t kMaxFaults = 20;

double thread_cpu_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Codes that say something is wrong on our side, or with the IAM or database beside us, which here
// are well.
bool is_ours(ErrorCode code) {
    return code == ErrorCode::InternalError || code == ErrorCode::InvalidConfig ||
           code == ErrorCode::StorageBusy || code == ErrorCode::IamUnavailable;
}

// Empty when the answer is right.
std::string fault_of(const daemon::http::Answer& answer) {
    const Json body = Json::parse(answer.body, nullptr, false);
    if (!body.is_object()) {
        return "the answer is no JSON object: " + answer.body.substr(0, 200);
    }
    if (answer.status == 200) {
        return body.contains("data") ? "" : "200 without data";
    }
    const Json error = body.value("error", Json::object());
    const auto code = find_error_code(error.value("code", ""));
    if (!code) {
        return "not a settled error: " + answer.body.substr(0, 200);
    }
    if (is_ours(*code) || error_info(*code).http_status != answer.status) {
        return std::to_string(answer.status) + " " + answer.body.substr(0, 200);
    }
    return "";
}

std::string credential_for(std::int64_t number) {
    switch (number % 20) {
        case 0:
            return "admin:root";
        case 1:
            return "viewer:acme";
        case 2:
            return "";
        case 3:
            return "agent:acme";
        default:
            return "admin:acme";
    }
}

}  // namespace

FuzzPlane::FuzzPlane(store::Engine engine) : database_(engine) {
    config::Config config;
    config.database.url = database_.url();
    config.database.synchronous = "normal";
    config.secret = crypto::Secret("a-deployment-secret-for-tests-0001");
    config.events.max_per_tenant = 1'000;
    daemon::ComputeOptions options;
    options.log = &null_log();
    options.clock = &clock_;
    options.rng = &rng_;
    options.iam = &iam_;
    compute_ = std::make_unique<daemon::Compute>(config, options);
    compute_->start();
    health_ = std::make_unique<daemon::Health>(
        compute_->database(), compute_->migrations(), config.roles, clock_, null_log()
    );
    health_->set_started();
    api_ = std::make_unique<daemon::Api>(*compute_, *health_, daemon::Api::Offer::Methods);
}

FuzzPlane::Outcome FuzzPlane::send(
    const std::string& path, const std::string& body, const std::string& credential
) {
    daemon::http::Request request;
    request.target = compute_->config().base_path + "/" + path;
    request.request_id = "req-" + std::to_string(++sent_);
    request.source_ip = "127.0.0.1";
    request.body = body;
    if (!credential.empty()) {
        request.credential = crypto::Secret(credential);
    }
    request.abort = [] { return false; };
    request.on_wait = [](bool) {};
    if (sent_ % 1'000 == 0) {
        iam_.clear();  // it remembers every question
    }
    const double before = thread_cpu_ms();
    Outcome outcome{api_->handle(request), 0};
    outcome.cpu_ms = thread_cpu_ms() - before;
    return outcome;
}

MethodReport run_method(FuzzPlane& plane, const std::string& path, const RunOptions& options) {
    const method::MethodDefinition& definition = plane.registry().methods().at(path).definition;
    BodyMaker maker(*definition.json_schema, options.seed ^ std::hash<std::string>{}(path));
    MethodReport report;
    const auto tell = [&](const std::string& what, const std::string& body) {
        report.faults.push_back(what + "\n    body: " + body.substr(0, kShownBytes));
    };
    for (std::int64_t i = 0; i < options.bodies && report.faults.size() < kMaxFaults; ++i) {
        const std::string body = maker.next();
        const std::string credential = credential_for(i);
        FuzzPlane::Outcome outcome = plane.send(path, body, credential);
        ++report.sent;
        if (const std::string fault = fault_of(outcome.answer); !fault.empty()) {
            tell(fault, body);
        }
        if (outcome.answer.status == 200) {
            ++report.accepted;
            maker.learn(Json::parse(outcome.answer.body));
        }
        // A thread may be charged for a neighbour; a slow input is slow every time.
        for (int again = 0; again < 2 && outcome.cpu_ms > report.worst_ms; ++again) {
            outcome.cpu_ms = std::min(outcome.cpu_ms, plane.send(path, body, credential).cpu_ms);
        }
        if (outcome.cpu_ms > report.worst_ms) {
            report.worst_ms = outcome.cpu_ms;
            report.worst_bytes = body.size();
        }
        if (outcome.cpu_ms > options.slow_ms) {
            tell("took " + std::to_string(outcome.cpu_ms) + " ms", body);
        }
    }
    return report;
}

}  // namespace compute::fuzz
