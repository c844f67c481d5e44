#include "net/exchange.h"

#include <algorithm>
#include <utility>

namespace compute::net {
namespace {

constexpr int kTooLarge =
    100;  // CURLE_TOO_LARGE of libcurl 8.6 and later; 7.88 calls the same "out of memory"

double ms_between(SteadyTime from, SteadyTime to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

double info_ms(CURL* handle, CURLINFO info) {
    curl_off_t us = 0;
    curl_easy_getinfo(handle, info, &us);
    return static_cast<double>(us) / 1000.0;
}

long info_long(CURL* handle, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

std::string status_words(int status) {
    const std::string text = "HTTP " + std::to_string(status);
    return status >= 300 && status <= 399 ? text + " (redirects are not followed)" : text;
}

}  // namespace

Exchange::Exchange(const std::string& ca_file, SocketTable& sockets)
    : sockets_(sockets), handle_(curl_easy_init()) {
    CURL* const handle = handle_.get();
    set_common_options(handle, ca_file);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, this);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message_.data());
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, &sockets);
    curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, on_ready);
    curl_easy_setopt(handle, CURLOPT_PREREQDATA, this);
    // Entries live until they are replaced or removed; otherwise every transfer walks the whole
    // cache to expire some.
    curl_easy_setopt(handle, CURLOPT_DNS_CACHE_TIMEOUT, -1L);
}

Exchange& Exchange::of(CURL* handle) {
    char* self = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
    return *reinterpret_cast<Exchange*>(self);
}

void Exchange::begin(Attempt attempt, SteadyTime now) {
    attempt_ = std::move(attempt);
    started_ = now;
    transfer_started_ = now;
    is_retried_ = false;
    vetted_.clear();
    clear_answer();
}

void Exchange::prepare(std::vector<IpAddress> addresses, StringList pins, SteadyTime now) {
    CURL* const handle = handle_.get();
    vetted_ = std::move(addresses);
    transfer_started_ = now;
    if (handle_url_ != attempt_.url) {
        curl_easy_setopt(handle, CURLOPT_URL, attempt_.url->text.c_str());
        handle_url_ = attempt_.url;
    }
    if (pins != nullptr || pins_ != nullptr) {
        curl_easy_setopt(handle, CURLOPT_RESOLVE, pins.get());
        pins_ = std::move(pins);
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers_.list());
    curl_easy_setopt(
        handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(attempt_.body->size())
    );
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, attempt_.body->data());
    curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 0L);
    const auto left = static_cast<long>(time_left(now).count());
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, left);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, left);
}

void Exchange::prepare_fresh(SteadyTime now) {
    clear_answer();
    is_retried_ = true;
    curl_easy_setopt(handle_.get(), CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(handle_.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(time_left(now).count()));
}

bool Exchange::needs_fresh_connection(CURLcode code) const noexcept {
    return code == CURLE_ABORTED_BY_CALLBACK && (is_peer_refused_ || is_connection_stale_) &&
           !is_retried_;
}

std::chrono::milliseconds Exchange::time_left(SteadyTime now) const noexcept {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline() - now);
    return std::max(left, std::chrono::milliseconds(1));  // 0 would mean "no limit" to libcurl
}

AttemptResult Exchange::result(CURLcode code, SteadyTime now) const {
    AttemptResult out;
    out.id = attempt_.id;
    out.lane = attempt_.lane;
    out.timings = timings(now);
    char* remote = nullptr;
    curl_easy_getinfo(handle_.get(), CURLINFO_PRIMARY_IP, &remote);
    out.remote_address = remote == nullptr ? "" : remote;
    out.status = reader_.status();
    if (out.status) {
        out.outcome = Outcome::Answered;
        out.is_reused = info_long(handle_.get(), CURLINFO_NUM_CONNECTS) == 0;
        out.retry_after = reader_.retry_after();
        if (!out.is_success()) {
            out.error = status_words(*out.status);
        }
        return out;
    }
    out.outcome = is_sending_ ? Outcome::Unknown : Outcome::NotSent;
    describe_failure(code, out);
    return out;
}

AttemptResult Exchange::failure(std::string error, std::string detail, SteadyTime now) const {
    AttemptResult out;
    out.id = attempt_.id;
    out.lane = attempt_.lane;
    out.error = std::move(error);
    out.detail = std::move(detail);
    out.timings.total_ms = ms_between(started_, now);
    out.timings.resolve_ms = out.timings.total_ms;
    return out;
}

void Exchange::describe_failure(CURLcode code, AttemptResult& out) const {
    const std::string_view message = message_.data();
    if (!reader_.refusal().empty()) {
        out.error = reader_.refusal();
    } else if (is_peer_refused_) {
        out.error = "resolves to a non-public address";
    } else if (is_sending_ && (code == CURLE_OUT_OF_MEMORY || code == kTooLarge)) {
        // A line without an end: libcurl gives up at 100 KiB, having shown the reader none of it.
        out.error = kTooMuchHeader;
    } else if (code == CURLE_OK) {
        out.error = "connection closed before the whole header of the answer";
    } else {
        const auto os_errno = static_cast<int>(info_long(handle_.get(), CURLINFO_OS_ERRNO));
        out.error = words_of({code, os_errno, message, attempt_.timeout});
    }
    out.detail = message.empty() ? curl_easy_strerror(code) : std::string(message);
    if (!out.remote_address.empty()) {
        out.detail += " (" + out.remote_address + ")";
    }
}

Timings Exchange::timings(SteadyTime now) const {
    CURL* const handle = handle_.get();
    const double offset = ms_between(started_, transfer_started_);
    const auto since_start = [&](CURLINFO info) {
        const double ms = info_ms(handle, info);
        return ms > 0 ? offset + ms : 0;
    };
    Timings out;
    out.resolve_ms = offset;
    out.connect_ms = since_start(CURLINFO_CONNECT_TIME_T);
    out.tls_ms = since_start(CURLINFO_APPCONNECT_TIME_T);
    out.first_byte_ms = since_start(CURLINFO_STARTTRANSFER_TIME_T);
    out.total_ms = ms_between(started_, now);
    return out;
}

void Exchange::clear_answer() {
    reader_.reset();
    message_[0] = '\0';
    is_peer_refused_ = false;
    is_connection_stale_ = false;
    is_sending_ = false;
}

bool Exchange::is_vetted(const IpAddress& address) const noexcept {
    return std::find(vetted_.begin(), vetted_.end(), address) != vetted_.end();
}

std::size_t Exchange::on_header(char* data, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    const bool was_answered = exchange.is_answered();
    const bool goes_on = exchange.reader_.on_header_line({data, size * count});
    if (!was_answered && exchange.is_answered()) {
        exchange.answered->push_back(&exchange);
    }
    return goes_on ? size * count : 0;
}

std::size_t Exchange::on_body(char* /*data*/, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    return exchange.reader_.on_body(size * count) ? size * count : 0;
}

// The backstop behind the pins: whatever libcurl believes a name to be, no socket is opened to an
// address that was not judged.
curl_socket_t Exchange::on_open(void* self, curlsocktype /*purpose*/, curl_sockaddr* address) {
    auto& exchange = *static_cast<Exchange*>(self);
    const auto peer = IpAddress::find(address->addr);
    if (!peer || !exchange.is_vetted(*peer)) {
        exchange.is_peer_refused_ = true;
        return CURL_SOCKET_BAD;
    }
    return exchange.sockets_.open(address->family, address->socktype, address->protocol);
}

int Exchange::on_close(void* sockets, curl_socket_t fd) {
    static_cast<SocketTable*>(sockets)->close(fd);
    return 0;
}

// Runs before the request is written, on kept connections too.
int Exchange::on_ready(void* self, char* remote, char* /*local*/, int remote_port, int local_port) {
    auto& exchange = *static_cast<Exchange*>(self);
    const auto peer = IpAddress::find(remote);
    if (!peer || !exchange.is_vetted(*peer)) {
        exchange.is_peer_refused_ = true;
        return CURL_PREREQFUNC_ABORT;
    }
    const Endpoints endpoints{
        *peer, static_cast<std::uint16_t>(remote_port), static_cast<std::uint16_t>(local_port)};
    if (exchange.sockets_.check(endpoints) == SocketTable::State::Dirty) {
        exchange.is_connection_stale_ = true;
        return CURL_PREREQFUNC_ABORT;
    }
    exchange.is_sending_ = true;
    return CURL_PREREQFUNC_OK;
}

}  // namespace compute::net
