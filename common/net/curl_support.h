// What the sender and the blocking client share of libcurl: initialization, certificates, words for
// its errors. Included by this room only.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <curl/curl.h>

namespace compute::net {

struct EasyDeleter {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using EasyHandle = std::unique_ptr<CURL, EasyDeleter>;

struct MultiDeleter {
    void operator()(CURLM* handle) const noexcept { curl_multi_cleanup(handle); }
};
using MultiHandle = std::unique_ptr<CURLM, MultiDeleter>;

struct ListDeleter {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using StringList = std::unique_ptr<curl_slist, ListDeleter>;

// Once per process, before any handle. Thread-safe.
void initialize_curl();

// `configured` when it can be read, else INVALID_CONFIG; the system's bundle when `configured` is
// empty.
[[nodiscard]] std::string get_ca_file(const std::string& configured);

// Options that hold for every request of ours: HTTP/1.1 over http and https alone, no redirect,
// proxy, cookie, netrc or decompression.
void set_common_options(CURL* handle, const std::string& ca_file);

// While it lives, a write to a connection that the peer has closed is an error and not a SIGPIPE to
// this thread: OpenSSL writes without MSG_NOSIGNAL, and libcurl's own protection changes the whole
// process.
class PipeSignalBlock {
public:
    PipeSignalBlock();
    ~PipeSignalBlock();
    PipeSignalBlock(const PipeSignalBlock&) = delete;
    PipeSignalBlock& operator=(const PipeSignalBlock&) = delete;

private:
    bool was_blocked_ = false;
};

struct CurlFailure {
    CURLcode code = CURLE_OK;
    int os_errno = 0;
    std::string_view message;  // libcurl's own words
    std::chrono::milliseconds timeout{0};
};

// What went wrong, for a tenant: printable ASCII, at most 256 bytes, no address.
[[nodiscard]] std::string words_of(const CurlFailure& failure);

// "10 s" or "1500 ms".
[[nodiscard]] std::string duration_words(std::chrono::milliseconds duration);

}  // namespace compute::net
