#include "net/curl_support.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <unistd.h>

#include "core/error.h"

namespace compute::net {
namespace {

constexpr std::array kSystemBundles = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
};

std::string connect_words(int os_errno) {
    switch (os_errno) {
        case ECONNREFUSED:
            return "connection refused";
        case EHOSTUNREACH:
            return "no route to the host";
        case ENETUNREACH:
            return "the network cannot be reached";
        case ETIMEDOUT:
            return "connecting timed out";
        default:
            return "could not connect";
    }
}

// OpenSSL's reason, as libcurl quotes it. Only a known text is passed on: certificates are the
// receiver's words.
std::string verify_words(std::string_view message) {
    static constexpr std::array<std::string_view, 12> kReasons = {
        "certificate has expired",
        "certificate is not yet valid",
        "self-signed certificate in certificate chain",
        "self-signed certificate",
        "unable to get local issuer certificate",
        "unable to get issuer certificate",
        "unable to verify the first certificate",
        "invalid CA certificate",
        "unsuitable certificate purpose",
        "certificate chain too long",
        "EE certificate key too weak",
        "CA signature digest algorithm too weak",
    };
    const auto* const found =
        std::find_if(kReasons.begin(), kReasons.end(), [&](std::string_view reason) {
            return message.find(reason) != std::string_view::npos;
        });
    if (found != kReasons.end()) {
        return "TLS: " + std::string(*found);
    }
    if (message.find("subject name") != std::string_view::npos ||
        message.find("does not match") != std::string_view::npos ||
        message.find("no alternative certificate") != std::string_view::npos) {
        return "TLS: certificate is for another host";
    }
    return "TLS: certificate was refused";
}

}  // namespace

void initialize_curl() {
    static const CURLcode kDone = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (kDone != CURLE_OK) {
        throw internal_error("libcurl cannot be initialized");
    }
}

std::string get_ca_file(const std::string& configured) {
    if (!configured.empty()) {
        if (access(configured.c_str(), R_OK) != 0) {
            throw invalid_config("ca_file: \"" + configured + "\" cannot be read");
        }
        return configured;
    }
    const auto* const found =
        std::find_if(kSystemBundles.begin(), kSystemBundles.end(), [](const char* path) {
            return access(path, R_OK) == 0;
        });
    return found == kSystemBundles.end() ? kSystemBundles.front() : *found;
}

void set_common_options(CURL* handle, const std::string& ca_file) {
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(
        handle, CURLOPT_PROXY, ""
    );  // the empty name also switches off the proxy variables
    curl_easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    curl_easy_setopt(handle, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(handle, CURLOPT_CAINFO, ca_file.c_str());
    // With a folder of certificates libcurl would read them all anew for every handshake (23 ms)
    // instead of keeping the parsed file.
    curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
}

PipeSignalBlock::PipeSignalBlock() {
    sigset_t pipe;
    sigset_t before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

PipeSignalBlock::~PipeSignalBlock() {
    if (was_blocked_) {
        return;
    }
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    // One that came meanwhile would be delivered when the block ends.
    constexpr timespec kNoWait{0, 0};
    sigtimedwait(&pipe, nullptr, &kNoWait);
    pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

std::string words_of(const CurlFailure& failure) {
    switch (failure.code) {
        case CURLE_COULDNT_CONNECT:
            return connect_words(failure.os_errno);
        case CURLE_COULDNT_RESOLVE_HOST:
            return "host name not found";
        case CURLE_OPERATION_TIMEDOUT:
            return "no answer within " + duration_words(failure.timeout);
        case CURLE_PEER_FAILED_VERIFICATION:
            return verify_words(failure.message);
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_SSL_CIPHER:
        case CURLE_USE_SSL_FAILED:
            return "TLS: handshake failed";
        case CURLE_SSL_CACERT_BADFILE:
            return "TLS: the trusted certificates cannot be read";
        case CURLE_GOT_NOTHING:
            return "connection closed without an answer";
        case CURLE_SEND_ERROR:
            return "connection broken off while sending";
        case CURLE_RECV_ERROR:
            return "connection broken off before the whole answer";
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
        case CURLE_BAD_CONTENT_ENCODING:
            return "the answer is not valid HTTP";
        default:
            return "the request failed";
    }
}

std::string duration_words(std::chrono::milliseconds duration) {
    const auto ms = duration.count();
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace compute::net
