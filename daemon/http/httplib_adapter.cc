#include "daemon/http/httplib_adapter.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <httplib.h>

namespace compute::daemon::http {
namespace {

constexpr std::size_t kRequestsPerConnection = 1'000'000;
constexpr std::size_t kTypicalHeadBytes = 256;

class MemoryStream final : public httplib::Stream {
public:
    explicit MemoryStream(std::string_view in) : in_(in) { out_.reserve(kTypicalHeadBytes); }

    [[nodiscard]] bool is_readable() const override { return !in_.empty(); }
    [[nodiscard]] bool is_writable() const override { return true; }
    ssize_t read(char* to, std::size_t size) override {
        const std::size_t count = std::min(size, in_.size());
        std::memcpy(to, in_.data(), count);
        in_.remove_prefix(count);
        return static_cast<ssize_t>(count);
    }
    using httplib::Stream::write;
    ssize_t write(const char* from, std::size_t size) override {
        out_.append(from, size);
        return static_cast<ssize_t>(size);
    }
    void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
    [[nodiscard]] socket_t socket() const override { return INVALID_SOCKET; }

    std::string take() { return std::move(out_); }

private:
    std::string_view in_;
    std::string out_;
};

// process_request offers no argument that reaches the pre-routing handler, so the exchange under
// way travels beside it.
thread_local const HttplibAdapter::Exchange* current_exchange = nullptr;

}  // namespace

struct HttplibAdapter::Impl : httplib::Server {
    using httplib::Server::process_request;

    static HandlerResponse answer(httplib::Response& response) {
        const Exchange& exchange = *current_exchange;
        Answer& answer = exchange.answer;
        response.status = answer.status;
        response.body = std::move(answer.body);
        response.set_header("Content-Type", answer.content_type);
        response.set_header("X-Request-Id", exchange.request_id);
        response.set_header("Cache-Control", "no-store");
        for (const auto& [name, value] : answer.headers) {
            response.set_header(name, value);
        }
        return HandlerResponse::Handled;
    }
};

HttplibAdapter::HttplibAdapter(std::chrono::milliseconds idle_timeout)
    : impl_(std::make_unique<Impl>()) {
    impl_->set_keep_alive_max_count(kRequestsPerConnection);
    impl_->set_keep_alive_timeout(std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::seconds>(idle_timeout).count()
    ));
    impl_->set_pre_routing_handler([](const httplib::Request& /*request*/,
                                      httplib::Response& response) {
        return Impl::answer(response);
    });
}

HttplibAdapter::~HttplibAdapter() = default;

std::string HttplibAdapter::run(const Exchange& exchange) {
    MemoryStream stream(exchange.is_head ? "HEAD / HTTP/1.1\r\n\r\n" : "POST / HTTP/1.1\r\n\r\n");
    current_exchange = &exchange;
    bool is_closed = exchange.must_close;
    impl_->process_request(stream, exchange.must_close, is_closed, nullptr);
    current_exchange = nullptr;
    return stream.take();
}

}  // namespace compute::daemon::http
