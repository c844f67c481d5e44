#include "net/http_client.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/error.h"
#include "core/guarded.h"
#include "net/curl_support.h"

namespace compute::net {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;

std::string_view trim(std::string_view text) noexcept {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t from = text.find_first_not_of(kSpace);
    return from == std::string_view::npos
               ? std::string_view{}
               : text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return out;
}

// One call's answer as it comes in.
struct Reading {
    HttpResponse response;
    std::size_t max_body_bytes = 0;
    std::size_t header_bytes = 0;
    bool is_too_large = false;
    bool is_sending = false;
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    auto& reading = *static_cast<Reading*>(self);
    const std::string_view line(data, size * count);
    reading.header_bytes += line.size();
    if (reading.header_bytes > kMaxHeaderBytes) {
        reading.is_too_large = true;
        return 0;
    }
    const std::size_t colon = line.find(':');
    if (line.substr(0, 5) == "HTTP/") {
        reading.response.headers.clear();  // of an interim answer
    } else if (colon != std::string_view::npos) {
        reading.response.headers.emplace_back(
            lower(line.substr(0, colon)), trim(line.substr(colon + 1))
        );
    }
    return line.size();
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto& reading = *static_cast<Reading*>(self);
    if (reading.response.body.size() + size * count > reading.max_body_bytes) {
        reading.is_too_large = true;
        return 0;
    }
    reading.response.body.append(data, size * count);
    return size * count;
}

int on_ready(
    void* self, char* /*remote*/, char* /*local*/, int /*remote_port*/, int /*local_port*/
) {
    static_cast<Reading*>(self)->is_sending = true;
    return CURL_PREREQFUNC_OK;
}

void append(StringList& list, const std::string& line) {
    if (line.find_first_of("\r\n") != std::string::npos) {
        throw internal_error("http client: a header holds a line break");
    }
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    [[maybe_unused]] curl_slist* const old = list.release();
    list.reset(longer);
}

StringList header_list(const HttpRequest& request) {
    StringList list;
    append(list, "Content-Type: application/json");
    append(list, "Expect:");
    for (const auto& [name, value] : request.headers) {
        append(list, name + ": " + value);
    }
    return list;
}

}  // namespace

std::string_view HttpResponse::header(std::string_view lower_case_name) const noexcept {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& item) {
        return item.first == lower_case_name;
    });
    return found == headers.end() ? std::string_view{} : found->second;
}

struct HttpClient::Impl {
    HttpClientOptions options;
    std::string ca_file;
    Guarded<std::vector<EasyHandle>> idle;

    EasyHandle take() {
        EasyHandle handle = idle.with([](auto& handles) {
            if (handles.empty()) {
                return EasyHandle();
            }
            EasyHandle last = std::move(handles.back());
            handles.pop_back();
            return last;
        });
        if (handle == nullptr) {
            handle.reset(curl_easy_init());
        }
        return handle;
    }

    void give_back(EasyHandle handle) {
        curl_easy_reset(handle.get());  // options go, the connection stays
        idle.with([&](auto& handles) {
            if (handles.size() < static_cast<std::size_t>(options.max_connections)) {
                handles.push_back(std::move(handle));
            }
        });
    }
};

HttpClient::HttpClient(HttpClientOptions options) : impl_(std::make_unique<Impl>()) {
    initialize_curl();
    impl_->ca_file = get_ca_file(options.ca_file);
    impl_->options = std::move(options);
}

HttpClient::~HttpClient() = default;

HttpResult HttpClient::post(const HttpRequest& request) {
    const auto timeout =
        request.total_timeout.count() > 0 ? request.total_timeout : impl_->options.total_timeout;
    StringList headers = header_list(request);
    crypto::Secret authorization;
    if (!request.bearer.empty()) {
        authorization =
            crypto::Secret("Authorization: Bearer " + std::string(request.bearer.reveal()));
        append(headers, std::string(authorization.reveal()));
    }
    Reading reading;
    reading.max_body_bytes = impl_->options.max_response_bytes;
    std::array<char, CURL_ERROR_SIZE> message{};
    EasyHandle owned = impl_->take();
    CURL* const handle = owned.get();
    set_common_options(handle, impl_->ca_file);
    curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(
        handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size())
    );
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    curl_easy_setopt(
        handle,
        CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::min(timeout, impl_->options.connect_timeout).count())
    );
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // a lookup that hangs is not waited for
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message.data());
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &reading);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &reading);
    curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, on_ready);
    curl_easy_setopt(handle, CURLOPT_PREREQDATA, &reading);
    const PipeSignalBlock block;
    const CURLcode code = curl_easy_perform(handle);
    long status = 0;
    long os_errno = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &os_errno);
    impl_->give_back(std::move(owned));
    if (code != CURLE_OK || status == 0) {
        return HttpFailure{
            reading.is_sending,
            reading.is_too_large
                ? "the answer is too large"
                : words_of({code, static_cast<int>(os_errno), message.data(), timeout})};
    }
    reading.response.status = static_cast<int>(status);
    return std::move(reading.response);
}

}  // namespace compute::net
