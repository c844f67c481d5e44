#include "daemon/http/server.h"

#include <utility>

#include "daemon/http/scheduler.h"

namespace compute::daemon::http {

struct HttpServer::Impl {
    Scheduler scheduler;
};

HttpServer::HttpServer(ServerOptions options, Handler& handler, Clock& clock, Rng& rng, Log& log)
    : impl_(new Impl{{std::move(options), handler, clock, rng, log}}) {}

HttpServer::~HttpServer() = default;

std::string HttpServer::address(std::size_t index) const {
    return impl_->scheduler.address(index);
}

void HttpServer::begin_stop() {
    impl_->scheduler.begin_stop();
}

void HttpServer::finish_stop(std::chrono::milliseconds patience) {
    impl_->scheduler.finish_stop(patience);
}

ServerStats HttpServer::stats() const {
    return impl_->scheduler.stats();
}

}  // namespace compute::daemon::http
