// bench_sink: a fast receiver of webhooks for measurements. One thread, epoll, 127.0.0.1 alone.
//
//   bench_sink [--port N] [--tls-port N --cert PEM --key PEM]     (port 0: the system's choice,
//   printed)
//
// POST anywhere is counted and answered 204; by path:
//   /slow?ms=N     204 after N milliseconds      /fail?code=N   that status (500 without) /hang
//   never answered
// GET /count gives the figures as JSON, POST /reset sets them to zero. A delivery id
// (X-Better-Compute-Delivery) counts as distinct once.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/sink/sink.h"

namespace {

void on_stop(int /*signal*/) {
    std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    compute::bench::SinkOptions options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string value = argv[i + 1];
        if (name == "--port") {
            options.port = std::atoi(value.c_str());
        } else if (name == "--tls-port") {
            options.tls_port = std::atoi(value.c_str());
        } else if (name == "--cert") {
            options.cert = value;
        } else if (name == "--key") {
            options.key = value;
        } else {
            std::fprintf(stderr, "bench_sink: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGTERM, on_stop);
    std::signal(SIGINT, on_stop);
    compute::bench::Sink sink(options);
    std::printf("listening on 127.0.0.1:%d", sink.port());
    if (sink.tls_port() != 0) {
        std::printf(", TLS on %d", sink.tls_port());
    }
    std::printf("\n");
    std::fflush(stdout);
    sink.run();
}
