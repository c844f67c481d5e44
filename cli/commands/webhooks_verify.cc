// `webhooks verify`: which part of a signature is wrong, for whoever writes a receiver.
#include <charconv>

#include <nlohmann/json.hpp>

#include "cli/commands/webhooks.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "config/deployment_secret.h"
#include "modules/events/signing.h"

namespace compute::cli::commands {

namespace {

struct VerifyFlags {
    std::string secret_file;
    std::string headers_file;
    std::string body_file;
    int tolerance = static_cast<int>(events::kSignatureToleranceSeconds);
};

struct Parts {
    std::string signature;
    std::string timestamp;
};

std::string lower(std::string text) {
    for (char& c : text) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
}

// Lines of `Name: value`; whatever else stands there (a status line, other headers) is passed over.
Parts parse_headers(const std::string& text) {
    Parts parts;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
            line.pop_back();
        }
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const std::string name = lower(line.substr(0, colon));
        const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
        if (name == "x-better-compute-signature") {
            parts.signature = line.substr(value);
        } else if (name == "x-better-compute-timestamp") {
            parts.timestamp = line.substr(value);
        }
    }
    return parts;
}

struct Verdict {
    std::string part;  // ok, headers, secret, timestamp, signature, body
    std::string message;
};

bool matches(
    const crypto::Secret& secret, const Parts& parts, std::string_view body, std::int64_t at
) {
    events::SignatureCheck check;
    check.secret = secret.reveal();
    check.signature = parts.signature;
    check.timestamp = parts.timestamp;
    check.body = body;
    check.now_seconds = at;
    return events::verify_webhook_signature(check);
}

// Whether a body that editors and shells like to change would have been the right one.
bool matches_without_line_break(
    const crypto::Secret& secret, const Parts& parts, std::string body, std::int64_t at
) {
    while (!body.empty() && (body.back() == '\n' || body.back() == '\r')) {
        body.pop_back();
    }
    return matches(secret, parts, body, at);
}

Verdict judge(
    const crypto::Secret& secret,
    const Parts& parts,
    const std::string& body,
    std::int64_t now,
    int tolerance
) {
    if (parts.signature.empty() || parts.timestamp.empty()) {
        return {
            "headers",
            std::string(
                parts.signature.empty() ? "X-Better-Compute-Signature"
                                        : "X-Better-Compute-Timestamp"
            ) + " is missing"};
    }
    std::int64_t timestamp = 0;
    const auto [end, error] = std::from_chars(
        parts.timestamp.data(), parts.timestamp.data() + parts.timestamp.size(), timestamp
    );
    if (error != std::errc() || end != parts.timestamp.data() + parts.timestamp.size()) {
        return {"timestamp", "the timestamp is no number of seconds"};
    }
    if (parts.signature.find("v1=") == std::string::npos) {
        return {"signature", "the signature has no v1= part"};
    }
    if (!secret.reveal().starts_with(events::kSecretPrefix)) {
        return {"secret", "the secret does not begin with whsec_: the key is the whole string"};
    }
    // At its own time first, so that an old delivery with a right signature is told apart from a
    // wrong one.
    if (!matches(secret, parts, body, timestamp)) {
        if (matches_without_line_break(secret, parts, body, timestamp)) {
            return {
                "body",
                "the body has a line break at its end that was not sent: verify the raw bytes"};
        }
        return {
            "signature",
            "no v1= part is the HMAC of this timestamp and body under this secret: another secret, "
            "or a body that is not the raw bytes"};
    }
    const std::int64_t age = now - timestamp;
    if (age > tolerance || age < -tolerance) {
        return {
            "timestamp",
            "the signature is right, but the timestamp is " + std::to_string(age < 0 ? -age : age) +
                " s " + (age < 0 ? "ahead" : "old") + ", more than " + std::to_string(tolerance)};
    }
    return {"ok", "the signature is right"};
}

int verify(const CommonOptions& common, const VerifyFlags& flags, Console& console) {
    common.apply(console);
    const auto secret = config::find_secret_in_file(flags.secret_file);
    if (!secret) {
        throw invalid_input("--secret-file: there is no file " + flags.secret_file);
    }
    const std::int64_t now = SystemClock().now_ms() / 1000;
    const Verdict verdict = judge(
        *secret,
        parse_headers(read_file(flags.headers_file)),
        read_file(flags.body_file),
        now,
        flags.tolerance
    );
    const bool is_ok = verdict.part == "ok";
    if (common.is_json) {
        console.json({{"ok", is_ok}, {"part", verdict.part}, {"message", verdict.message}});
    } else {
        console.line(is_ok ? verdict.message : verdict.part + ": " + verdict.message);
    }
    return is_ok ? kExitOk : kExitRefused;
}

}  // namespace

void define_webhooks_verify(const Definition& webhooks) {
    const Definition command = webhooks.sub(
        "verify",
        "Says which part of a delivery's signature is wrong",
        "better-compute webhooks verify --secret-file secret --headers headers.txt --body body.json"
    );
    const auto common = add_output(command);
    const auto flags = std::make_shared<VerifyFlags>();
    CLI::App& app = command.app();
    app.add_option(
           "--secret-file",
           flags->secret_file,
           "File with the webhook's secret, readable by its owner only"
    )
        ->required()
        ->type_name("FILE");
    app.add_option(
           "--headers", flags->headers_file, "File with the headers as received, one a line"
    )
        ->required()
        ->type_name("FILE");
    app.add_option("--body", flags->body_file, "File with the raw body")
        ->required()
        ->type_name("FILE");
    command
        .whole(
            "--tolerance", flags->tolerance, {0, 1'000'000'000}, "Seconds the timestamp may be off"
        )
        ->capture_default_str();
    command.run([common, flags](Console& console) { return verify(*common, *flags, console); });
}

}  // namespace compute::cli::commands
