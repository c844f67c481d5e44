// The sender's way from a host name to a vetted address.
#include <algorithm>
#include <utility>

#include "core/log.h"
#include "net/sender_loop.h"

namespace compute::net {
namespace {

// Pinned names kept in libcurl's cache; beyond, some that nothing uses are removed.
constexpr std::size_t kMaxPins = 4096;
constexpr std::size_t kUnpinAtOnce = 64;

std::string pin_entry(const std::string& key, const std::vector<IpAddress>& addresses) {
    std::string out = key;
    char separator = ':';
    for (const IpAddress& address : addresses) {
        out += separator;
        out += address.is_v4() ? address.text() : "[" + address.text() + "]";
        separator = ',';
    }
    return out;
}

void append(StringList& list, const std::string& entry) {
    curl_slist* const longer = curl_slist_append(list.get(), entry.c_str());
    [[maybe_unused]] curl_slist* const old = list.release();
    list.reset(longer);
}

std::string lookup_words(ResolveStatus status) {
    switch (status) {
        case ResolveStatus::NotFound:
            return "host name not found";
        case ResolveStatus::TimedOut:
            return "host name lookup timed out";
        case ResolveStatus::Ok:
        case ResolveStatus::Failed:
            break;
    }
    return "host name lookup failed";
}

}  // namespace

void Sender::Loop::resolve(Exchange& exchange) {
    exchange.phase = Exchange::Phase::Resolving;
    exchange.serial = ++last_serial_;
    set_timer(exchange, exchange.deadline());
    const std::string& host = exchange.attempt().url->host;
    resolver_.resolve(
        host,
        exchange.attempt().timeout,
        // The inbox is shared because a lookup can end after the sender is gone; the exchange is
        // looked at only by the loop.
        [inbox = inbox_, target = &exchange, serial = exchange.serial](ResolveResult result) {
            inbox->put(Resolved{target, serial, std::move(result)});
        }
    );
}

void Sender::Loop::on_resolved(Resolved resolved) {
    Exchange& exchange = *resolved.exchange;
    if (exchange.phase != Exchange::Phase::Resolving || exchange.serial != resolved.serial) {
        return;  // too late: the attempt has ended
    }
    clear_timer(exchange);
    const SteadyTime now = std::chrono::steady_clock::now();
    ResolveResult& result = resolved.result;
    if (result.status != ResolveStatus::Ok || result.addresses.empty()) {
        const auto status =
            result.status == ResolveStatus::Ok ? ResolveStatus::NotFound : result.status;
        finish(exchange, exchange.failure(lookup_words(status), result.detail, now));
        return;
    }
    send(exchange, std::move(result.addresses));
}

// Judges every address first: one that is refused fails the attempt, whatever the others are.
void Sender::Loop::send(Exchange& exchange, std::vector<IpAddress> addresses) {
    const SteadyTime now = std::chrono::steady_clock::now();
    for (const IpAddress& address : addresses) {
        if (const std::string_view why = refusal_of(address, options_.guard); !why.empty()) {
            finish(
                exchange,
                exchange.failure(
                    "resolves to a non-public address",
                    exchange.attempt().url->host + " is " + address.text() + " (" +
                        std::string(why) + ")",
                    now
                )
            );
            return;
        }
    }
    StringList pins = exchange.attempt().url->address ? nullptr : pin(exchange, addresses);
    exchange.prepare(std::move(addresses), std::move(pins), now);
    exchange.phase = Exchange::Phase::Sending;
    curl_multi_add_handle(multi_.get(), exchange.handle());
}

// What libcurl's cache must be told before this transfer. Each transfer brings its own entry:
// libcurl takes it in and looks the name up in one step, so whatever other transfers to the host
// pinned meanwhile, this one finds its own addresses.
StringList Sender::Loop::pin(Exchange& exchange, const std::vector<IpAddress>& addresses) {
    const Url& url = *exchange.attempt().url;
    exchange.pin_key = url.host + ":" + std::to_string(url.port);
    StringList list;
    if (pins_.size() >= kMaxPins && pins_.find(exchange.pin_key) == pins_.end()) {
        unpin_some(list);
    }
    ++pins_[exchange.pin_key];
    append(list, pin_entry(exchange.pin_key, addresses));
    return list;
}

void Sender::Loop::unpin_some(StringList& list) {
    std::size_t removed = 0;
    for (auto item = pins_.begin(); item != pins_.end() && removed < kUnpinAtOnce;) {
        if (item->second > 0) {
            ++item;
            continue;
        }
        append(list, "-" + item->first);
        item = pins_.erase(item);
        ++removed;
    }
}

}  // namespace compute::net
