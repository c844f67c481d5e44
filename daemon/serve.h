// `better-compute serve`: the running process. Puts HTTP in front of a Compute and reconcilers and
// workers behind it, by role, and takes them down again in order.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"

namespace compute::daemon {

struct ServeOptions {
    std::string ready_file;  // written atomically once requests are answered; empty: none
    bool migrate = false;    // apply pending migrations on PostgreSQL too
    std::string version = "0.1.0";
    // Reads the configuration again, on SIGHUP; what is taken from it is the log level. Empty: only
    // certificates are read again.
    std::function<config::Config()> reload;
};

// Runs until SIGTERM or SIGINT and returns the exit status: 0 after a clean stop. Throws
// ComputeError when it cannot start (the caller prints it and exits 1). `config.secret` may be
// empty: it is then resolved, and made on the first run on SQLite. Handles SIGTERM, SIGINT, SIGHUP
// and SIGPIPE of the whole process: call it on the main thread before any other is started.
[[nodiscard]] int serve(config::Config config, const ServeOptions& options);

}  // namespace compute::daemon
