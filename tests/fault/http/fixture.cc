#include "tests/fault/http/fixture.h"

#include "daemon/http/stream.h"

namespace compute::daemon::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{20};
constexpr milliseconds kAbortCheck{200};

class EchoUpgrade final : public UpgradeHandler {
public:
    std::optional<Answer> take(const Offer& offer, std::unique_ptr<UpgradedStream>& stream)
        override {
        if (offer.target == "/refuse") {
            return error_answer(ComputeError(ErrorCode::AccessDenied, "not here"));
        }
        const auto own = std::move(stream);
        static_cast<void>(own->write(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
                offer.protocol + "\r\n\r\n",
            kPatience
        ));
        std::array<char, 64> bytes{};
        const auto count = own->read(bytes.data(), bytes.size(), kPatience);
        static_cast<void>(
            own->write("echo:" + std::string(bytes.data(), count.value_or(0)), kPatience)
        );
        return std::nullopt;
    }
};

}  // namespace

std::optional<RouteKind> ScriptedHandler::find_route(std::string_view target, bool /*is_admin*/)
    const {
    if (target == "/plain") {
        return RouteKind::Plain;
    }
    if (target == "/call" || target == "/echo" || target == "/fail" || target == "/wait" ||
        target == "/large") {
        return RouteKind::Call;
    }
    return std::nullopt;
}

UpgradeHandler* ScriptedHandler::find_upgrade(std::string_view target) const {
    static EchoUpgrade upgrade;
    return target == "/upgrade" || target == "/refuse" ? &upgrade : nullptr;
}

Answer ScriptedHandler::handle(const Request& request) {
    {
        const std::lock_guard lock(mutex_);
        last_ = request;
        last_.abort = nullptr;
        last_.on_wait = nullptr;
        ++handled_;
    }
    if (request.target == "/wait") {
        return wait(request);
    }
    if (request.target == "/fail") {
        throw std::runtime_error("password=hunter2");
    }
    Answer answer;
    answer.body = request.target == "/echo"    ? request.body
                  : request.target == "/plain" ? "plain"
                  : request.target == "/large"
                      ? std::string(32 * 1024 * 1024, 'x')
                      : "{\"data\":" + std::to_string(request.body.size()) + "}";
    return answer;
}

Answer ScriptedHandler::wait(const Request& request) {
    request.on_wait(true);
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    bool is_aborted = false;
    while (!is_released_ && !is_aborted) {
        released_.wait_for(lock, kAbortCheck);
        is_aborted = request.abort();
    }
    aborted_ += is_aborted ? 1 : 0;
    ++ended_;
    changed_.notify_all();
    lock.unlock();
    request.on_wait(false);
    Answer answer;
    answer.body = "{\"data\":\"waited\"}";
    return answer;
}

void ScriptedHandler::release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    released_.notify_all();
}

bool ScriptedHandler::wait_for_waiting(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return waiting_ >= count; });
}

bool ScriptedHandler::wait_for_ended(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return ended_ >= count; });
}

void HttpFault::start(Limits limits, bool is_behind_proxy) {
    if (GetParam() == Wire::Tls) {
        const support::TlsIdentity identity = support::TestAuthority().issue_for({"127.0.0.1"});
        const std::string base = folder_.path();
        std::ofstream(base + "/cert.pem") << identity.chain;
        std::ofstream(base + "/key.pem") << identity.key;
        tls_ = std::make_shared<TlsContext>(base + "/cert.pem", base + "/key.pem");
    }
    ServerOptions options;
    options.listeners.push_back({"127.0.0.1:0", false, tls_});
    options.limits = limits;
    options.is_behind_proxy = is_behind_proxy;
    raise_file_limit();
    server_ = std::make_unique<HttpServer>(
        std::move(options), handler_, clock_, crypto::system_rng(), log_
    );
}

std::optional<RawAnswer> HttpFault::ask(std::string_view request) const {
    return connect().ask(request);
}

int HttpFault::refused_with(std::string_view request) const {
    RawHttp client = connect();
    const auto answer = client.ask(request);
    return answer && client.is_closed_within(RawHttp::kPatience) ? answer->status : 0;
}

}  // namespace compute::daemon::http
