#include "daemon/http/tls.h"

#include <array>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "core/error.h"

namespace compute::daemon::http {
namespace {

std::string openssl_reason() {
    std::array<char, 256> text{};
    const unsigned long code = ERR_peek_last_error();
    ERR_error_string_n(code, text.data(), text.size());
    ERR_clear_error();
    return code == 0 ? "unknown reason" : text.data();
}

ComputeError tls_fault(const std::string& key, const std::string& file) {
    return invalid_config(
        key + ": cannot use " + file + ": " + openssl_reason(),
        "the file must be PEM, readable by the daemon, and the key must belong to the certificate"
    );
}

// The only protocol offered is HTTP/1.1; a client that asks by ALPN for others goes on without it.
int select_alpn(
    SSL* /*session*/,
    const unsigned char** out,
    unsigned char* out_size,
    const unsigned char* in,
    unsigned int in_size,
    void* /*argument*/
) {
    static constexpr std::array<unsigned char, 9> kHttp11{
        8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_size, kHttp11.data(), kHttp11.size(), in, in_size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

}  // namespace

TlsContext::TlsContext(std::string cert, std::string key)
    : cert_(std::move(cert)), key_(std::move(key)), context_(load()) {}

std::shared_ptr<ssl_ctx_st> TlsContext::load() const {
    ERR_clear_error();
    std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    if (!context) {
        throw internal_error("SSL_CTX_new: " + openssl_reason());
    }
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(
        context.get(),
        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
    );
    SSL_CTX_set_mode(
        context.get(),
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
            SSL_MODE_RELEASE_BUFFERS
    );
    SSL_CTX_set_alpn_select_cb(context.get(), select_alpn, nullptr);
    if (SSL_CTX_use_certificate_chain_file(context.get(), cert_.c_str()) != 1) {
        throw tls_fault("tls.cert", cert_);
    }
    if (SSL_CTX_use_PrivateKey_file(context.get(), key_.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context.get()) != 1) {
        throw tls_fault("tls.key", key_);
    }
    return context;
}

void TlsContext::reload() {
    auto fresh = load();
    const std::lock_guard lock(mutex_);
    context_ = std::move(fresh);
}

ssl_st* TlsContext::new_session() {
    const std::lock_guard lock(mutex_);
    return SSL_new(context_.get());
}

}  // namespace compute::daemon::http
