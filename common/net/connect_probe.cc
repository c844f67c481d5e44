#include "net/connect_probe.h"

#include "core/error.h"
#include "net/curl_support.h"

namespace compute::net {

namespace {

double info_ms(CURL* handle, CURLINFO what) {
    curl_off_t microseconds = 0;
    curl_easy_getinfo(handle, what, &microseconds);
    return static_cast<double>(microseconds) / 1000;
}

}  // namespace

ProbeResult probe_connection(
    const Url& url,
    const IpAddress& address,
    const std::string& ca_file,
    std::chrono::milliseconds timeout
) {
    initialize_curl();
    const EasyHandle handle(curl_easy_init());
    if (!handle) {
        throw internal_error("curl_easy_init failed");
    }
    const std::string pin = url.host + ":" + std::to_string(url.port) + ":" +
                            (address.is_v4() ? address.text() : "[" + address.text() + "]");
    const StringList pins(curl_slist_append(nullptr, pin.c_str()));
    set_common_options(handle.get(), get_ca_file(ca_file));
    curl_easy_setopt(handle.get(), CURLOPT_URL, url.text.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(handle.get(), CURLOPT_RESOLVE, pins.get());
    curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    const PipeSignalBlock no_pipe_signal;
    ProbeResult result;
    if (const CURLcode code = curl_easy_perform(handle.get()); code != CURLE_OK) {
        long os_errno = 0;
        curl_easy_getinfo(handle.get(), CURLINFO_OS_ERRNO, &os_errno);
        result.error =
            words_of({code, static_cast<int>(os_errno), curl_easy_strerror(code), timeout});
        return result;
    }
    const double connected = info_ms(handle.get(), CURLINFO_CONNECT_TIME_T);
    const double secured = info_ms(handle.get(), CURLINFO_APPCONNECT_TIME_T);
    result.connect_ms = connected;
    result.tls_ms = secured > connected ? secured - connected : 0;
    return result;
}

}  // namespace compute::net
