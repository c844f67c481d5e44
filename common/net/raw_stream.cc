#include "net/raw_stream.h"

#include <array>

#include "core/error.h"
#include "net/curl_support.h"

namespace compute::net {

struct RawStream::Impl {
    EasyHandle handle;
    std::string ca_file;
    int fd = -1;
};

RawStream::RawStream(const std::string& url, const RawStreamOptions& options)
    : impl_(std::make_unique<Impl>()) {
    initialize_curl();
    impl_->ca_file = get_ca_file(options.ca_file);
    impl_->handle.reset(curl_easy_init());
    CURL* const handle = impl_->handle.get();
    if (handle == nullptr) {
        throw internal_error("libcurl gives no handle");
    }
    const PipeSignalBlock no_signal;
    std::array<char, CURL_ERROR_SIZE> message{};
    set_common_options(handle, impl_->ca_file);
    curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message.data());
    curl_easy_setopt(
        handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count())
    );
    const CURLcode code = curl_easy_perform(handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
    if (code != CURLE_OK) {
        long os_errno = 0;
        curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &os_errno);
        throw ComputeError(
            ErrorCode::InvalidState,
            words_of({code, static_cast<int>(os_errno), message.data(), options.connect_timeout})
        );
    }
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket);
    impl_->fd = socket;
}

RawStream::RawStream(RawStream&&) noexcept = default;
RawStream& RawStream::operator=(RawStream&&) noexcept = default;
RawStream::~RawStream() = default;

int RawStream::fd() const noexcept {
    return impl_->fd;
}

RawStream::Io RawStream::receive(char* to, std::size_t size, std::size_t& received) {
    received = 0;
    const CURLcode code = curl_easy_recv(impl_->handle.get(), to, size, &received);
    if (code == CURLE_AGAIN) {
        return Io::Again;
    }
    return code == CURLE_OK && received > 0 ? Io::Done : Io::Closed;
}

RawStream::Io RawStream::send(std::string_view bytes, std::size_t& sent) {
    sent = 0;
    const PipeSignalBlock no_signal;
    const CURLcode code = curl_easy_send(impl_->handle.get(), bytes.data(), bytes.size(), &sent);
    if (code == CURLE_AGAIN) {
        return Io::Again;
    }
    return code == CURLE_OK ? Io::Done : Io::Closed;
}

}  // namespace compute::net
