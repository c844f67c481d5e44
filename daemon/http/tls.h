// TLS for the listener: one context, replaced as a whole when the certificate files are read again.
// TLS 1.2 and 1.3 only, no renegotiation, no compression. Connections keep the context they began
// with.
#pragma once

#include <memory>
#include <mutex>
#include <string>

struct ssl_st;
struct ssl_ctx_st;

namespace compute::daemon::http {

// Thread-safe.
class TlsContext {
public:
    // Reads the PEM files: `cert` with the chain, `key` belonging to it. INVALID_CONFIG naming the
    // file and the reason.
    TlsContext(std::string cert, std::string key);

    // Reads both files again. Throws like the constructor and then keeps the old context.
    void reload();

    // A new server-side session, to be freed with SSL_free.
    [[nodiscard]] ssl_st* new_session();

private:
    [[nodiscard]] std::shared_ptr<ssl_ctx_st> load() const;

    std::string cert_;
    std::string key_;
    std::mutex mutex_;
    std::shared_ptr<ssl_ctx_st>
        context_;  // shared: sessions under way keep OpenSSL's own reference beside it
};

}  // namespace compute::daemon::http
