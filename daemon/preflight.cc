#include "daemon/preflight.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "config/checks.h"
#include "config/deployment_secret.h"
#include "core/error.h"
#include "iam/local/token_store.h"

namespace compute::daemon {
namespace {

ComputeError file_fault(const std::string& path, const char* step) {
    return invalid_config(
        path + ": cannot " + step + ": " + std::generic_category().message(errno)
    );
}

// Makes place for the token file. Beside an embedded database an old one can only be what a dead
// start left: its token was never made. In a working directory it may be another deployment's.
void make_place(const std::string& path, store::Engine engine) {
    if (engine == store::Engine::Sqlite) {
        ::unlink(path.c_str());
    } else {
        ::rename(path.c_str(), (path + ".old").c_str());
    }
}

// False when there are identities already.
bool make_root_token(Compute& compute, const std::string& path) {
    const method::Runtime& runtime = compute.runtime();
    bool was_created = false;
    compute.database().write(
        [&](store::Transaction& tx) {
            was_created = false;
            const auto token = iam::local::bootstrap_root(
                tx, runtime.clock, runtime.rng, compute.config().iam.root_tenant
            );
            if (!token) {
                return;
            }
            // The file before the commit. If the process dies in between, the token in the file was
            // never made and there is still no identity: the next start replaces the file.
            make_place(path, tx.engine());
            if (!config::create_secret_file(path, token->token, runtime.rng)) {
                throw invalid_config(path + ": another process writes it right now");
            }
            was_created = true;
        },
        store::Purpose::Background
    );
    return was_created;
}

}  // namespace

void check_listener(const config::Config& config) {
    const auto where = config::find_host_port(config.listen);
    if (!where || config::is_loopback_host(where->host)) {
        return;
    }
    if (config.secret.empty()) {
        throw invalid_config(
            "secret: must be set when listen is not a loopback address (" + config.listen + ")",
            "set BETTER_COMPUTE_SECRET to at least 32 random characters, for example of: openssl "
            "rand -base64 32"
        );
    }
    if (config.tls.cert.empty() && !config.behind_proxy) {
        throw invalid_config(
            "listen: " + config.listen + " is not a loopback address and there is no TLS",
            "give --tls-cert and --tls-key, or --behind-proxy when a proxy in front ends TLS"
        );
    }
}

std::unique_ptr<store::ProcessLock> lock_database(const config::Config& config) {
    const auto file = config::find_database_file(config.database.url);
    return file ? store::acquire_process_lock(*file) : nullptr;
}

std::optional<RootToken> ensure_root_token(Compute& compute) {
    const config::Config& config = compute.config();
    const auto path = config::find_root_token_file(config);
    if (config.iam.mode != "local" || !path) {
        return std::nullopt;
    }
    bool was_created = false;
    try {
        was_created = make_root_token(compute, *path);
    } catch (const ComputeError& error) {
        // Beside an embedded database nothing else could be written either.
        if (compute.database().engine() == store::Engine::Sqlite ||
            error.code() != ErrorCode::InvalidConfig) {
            throw;
        }
        compute.runtime().log.warning(
            "serve.no_root_token",
            {{"reason", error.message()},
             {"hint", "start serve once in a folder it may write to, or use iam apply"}}
        );
    }
    if (!was_created && ::access(path->c_str(), F_OK) != 0) {
        return std::nullopt;
    }
    return RootToken{*path, was_created};
}

void write_file_atomically(const std::string& path, const std::string& text) {
    // Readers see the old file, none, or the whole new one: the name is moved over only when the
    // bytes are on disk.
    const std::string draft = path + ".new." + std::to_string(::getpid());
    const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        throw file_fault(draft, "be written");
    }
    const bool is_written =
        ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(fd) == 0;
    ::close(fd);
    if (!is_written || ::rename(draft.c_str(), path.c_str()) != 0) {
        const ComputeError fault = file_fault(path, "be written");
        ::unlink(draft.c_str());
        throw fault;
    }
}

}  // namespace compute::daemon
