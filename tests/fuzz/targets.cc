#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <nlohmann/json.hpp>

#include "audit/proof.h"
#include "core/json.h"
#include "daemon/http/body.h"
#include "daemon/http/handler.h"
#include "daemon/http/head.h"
#include "iam/local/policy.h"
#include "modules/capacity/name_list.h"
#include "modules/events/url_guard.h"
#include "net/url.h"

namespace compute::fuzz {
namespace {

namespace http = daemon::http;

void promise(bool is_kept, const char* what) {
    if (!is_kept) {
        std::fprintf(stderr, "broken promise: %s\n", what);
        std::abort();
    }
}

// What `function` returns; nullopt when it refuses the input. Any other error is a broken promise.
template <class Function>
auto refused_or(const Function& function) -> std::optional<decltype(function())> {
    try {
        return function();
    } catch (const ComputeError& error) {
        promise(error.code() == ErrorCode::InvalidInput, "refused with INVALID_INPUT");
        return std::nullopt;
    }
}

void run_json(std::string_view bytes) {
    const auto value = refused_or([&] { return parse_json(bytes); });
    if (!value) {
        return;
    }
    const std::string canonical = canonical_json(*value);
    const auto again = refused_or([&] { return parse_json(canonical); });
    promise(again.has_value(), "the canonical form is JSON");
    promise(canonical_json(*again) == canonical, "the canonical form is its own");
    promise(canonical_json(parse_json(dump_json(*value))) == canonical, "dumping keeps the value");
}

struct HeadOutcome {
    http::HeadReader::State state;
    std::size_t size = 0;
    std::string target;
    int status = 0;
    friend bool operator==(const HeadOutcome&, const HeadOutcome&) = default;
};

HeadOutcome read_head(std::string_view bytes, std::size_t step) {
    http::HeadReader reader({});
    auto state = http::HeadReader::State::NeedMore;
    for (std::size_t end = std::min(step, bytes.size());;
         end = std::min(end + step, bytes.size())) {
        state = reader.read(bytes.substr(0, end));
        if (state != http::HeadReader::State::NeedMore || end == bytes.size()) {
            break;
        }
    }
    HeadOutcome outcome{state, 0, {}, 0};
    if (state == http::HeadReader::State::Done) {
        outcome.size = reader.size();
        outcome.target = reader.head().target;
        promise(outcome.size <= bytes.size(), "a head is within what was shown");
    } else if (state == http::HeadReader::State::Fault) {
        outcome.status = reader.fault().status;
        promise(outcome.status >= 400, "a fault has a status");
    }
    return outcome;
}

void read_body(std::string_view bytes, bool is_chunked, std::size_t length, std::size_t step) {
    http::BodyReader reader;
    if (is_chunked) {
        reader.start_chunked();
    } else {
        reader.start_plain(length);
    }
    auto state = http::BodyReader::State::NeedMore;
    std::string waiting;
    for (std::size_t at = 0; state == http::BodyReader::State::NeedMore && at < bytes.size();
         at += step) {
        waiting += bytes.substr(at, step);
        std::size_t taken = 0;
        state = reader.read(waiting, taken);
        promise(taken <= waiting.size(), "a body takes what there is");
        waiting.erase(0, taken);
    }
    if (state == http::BodyReader::State::Done) {
        promise(reader.take_body().size() <= http::kMaxBodyBytes, "a body is within its limit");
    }
}

void run_http(std::string_view bytes) {
    // One byte at a time costs a quadratic copy only here, so such inputs stay short.
    const HeadOutcome whole = read_head(bytes, bytes.size() + 1);
    promise(read_head(bytes, 7) == whole, "a head in pieces is the same head");
    if (bytes.size() <= 512) {
        promise(read_head(bytes, 1) == whole, "a head byte by byte is the same head");
    }
    const std::string_view rest = whole.size < bytes.size() ? bytes.substr(whole.size) : bytes;
    read_body(rest, true, 0, 5);
    read_body(rest, true, 0, rest.size() + 1);
    read_body(rest, false, rest.size() / 2, 3);
}

void run_url(std::string_view bytes) {
    const net::UrlResult result = net::parse_url(bytes);
    if (const auto* url = std::get_if<net::Url>(&result)) {
        const net::UrlResult again = net::parse_url(url->text);
        const auto* same = std::get_if<net::Url>(&again);
        promise(same != nullptr, "a normalized URL is a URL");
        promise(same->text == url->text && same->host == url->host, "normalizing is done once");
    }
    const auto url = refused_or([&] { return events::check_webhook_url(bytes, {}); });
    if (url) {
        promise(url->is_tls, "only https");
        promise(
            refused_or([&] { return events::check_webhook_url(url->text, {}); }).has_value(),
            "what was allowed is allowed as it was normalized"
        );
    }
}

void run_names(std::string_view bytes) {
    const auto names = refused_or([&] { return capacity::expand_names(bytes, "names"); });
    if (!names) {
        return;
    }
    promise(names->size() <= capacity::kMaxNamesPerList, "no more names than a list may have");
    std::vector<std::string> sorted = *names;
    std::sort(sorted.begin(), sorted.end());
    const auto spelled = refused_or([&] { return capacity::canonical_names(bytes, "names"); });
    promise(spelled.has_value(), "what expands has a spelling");
    std::vector<std::string> of_spelling = capacity::expand_names(*spelled, "names");
    std::sort(of_spelling.begin(), of_spelling.end());
    promise(of_spelling == sorted, "the spelling means the same names");
}

void run_policy(std::string_view bytes) {
    const auto document = refused_or([&] { return parse_json(bytes); });
    if (!document) {
        return;
    }
    const auto policy =
        refused_or([&] { return iam::local::Policy::compile(*document, "policy"); });
    if (!policy) {
        return;
    }
    const iam::local::Request request{"compute:pools:read", "compute-pool/pool_1", {}};
    for (const auto effect : {iam::local::Effect::Allow, iam::local::Effect::Deny}) {
        const auto found = (*policy)->find(effect, request);
        promise(!found || *found < (*policy)->statements().size(), "a statement that is there");
    }
}

void run_proof(std::string_view bytes) {
    const auto proof = refused_or([&] { return parse_json(bytes); });
    if (proof) {
        const auto verdict = refused_or([&] { return audit::judge_proof(*proof, {}); });
        promise(!verdict || !verdict->is_ok(), "nobody here can sign");
    }
    static_cast<void>(audit::find_leaves(bytes));
    if (const auto position = audit::find_position(bytes)) {
        promise(position->str() == bytes, "a place has one spelling");
    }
}

}  // namespace

const std::vector<Target>& targets() {
    static const std::vector<Target> kTargets = {
        {"json",
         run_json,
         {R"({"a":[1,1.0,-0,1e0,"\u00e4\ud83d\ude00",null,true],"b":{"c":{}}})",
          R"([9007199254740992,0.1,1e308])",
          R"("text")"}},
        {"http",
         run_http,
         {"POST /api/compute/pools/list HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
          "Content-Length: 2\r\n\r\n{}",
          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
          "chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: "
          "y\r\n\r\n",
          "\r\nGET /healthz HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"}},
        {"url",
         run_url,
         {"https://example.com/hook?a=b",
          "https://0x7f.1:8443/",
          "https://[::ffff:10.0.0.1]/",
          "https://b\xc3\xbc"
          "cher.example/%2e%2e/",
          "http://2130706433/",
          "https://localhost./"}},
        {"names",
         run_names,
         {"gpu-[0001-0064,0100]", "gpu-[1-9,10-12]-rack", "node-1", "a[09-11]"}},
        {"policy",
         run_policy,
         {R"({"version":1,"statements":[{"sid":"a","effect":"allow","actions":["compute:*"],"resources":["compute-pool/${principal.id}"],"conditions":{"NumericLessThan":{"resource.gpuCount":8},"IpAddress":{"request.sourceIp":["10.0.0.0/8"]},"StringLike":{"resource.name":"a*?"}}}]})",
          R"({"version":1,"statements":[{"effect":"deny","actions":["*"],"resources":["*"],"conditions":{"DateBefore":{"request.time":"2026-01-01T00:00:00Z"},"Exists":{"resource.x":true}}}]})"}},
        {"proof",
         run_proof,
         {R"({"version":1,"row":{"position":"0.1","id":"aud_1","time":1,"tenantId":"acme"},"checkpoint":{"number":1,"seal":1,"tenantId":"acme","tenantNumber":1,"from":"0.0","to":"0.1","firstTime":1,"lastTime":1,"sealedAt":1,"rows":1,"root":"00","previous":"","tenantPrevious":"","keyId":"k","signature":"AAAA"},"index":0,"path":[],"publicKey":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})",
          "0.1 0 aud_1 47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU\n",
          "12.345"}},
    };
    return kTargets;
}

}  // namespace compute::fuzz
