// Calling a server over HTTP, for the commands that act as the bearer of a token.
#pragma once

#include <string>

#include "config/config.h"
#include "core/error.h"
#include "crypto/secret.h"
#include "net/http_client.h"

namespace compute::cli {

class Console;

// Says so when a token would go over a network unencrypted: plain http to another machine. No
// refusal: inside a cluster, in front of which TLS ends, that is an ordinary way to call.
void warn_of_plain_http(const std::string& url, Console& console);

class Client {
public:
    // `url` is where the server listens; without a path of its own the configured base path is
    // added. Throws UsageError for one that is no http(s) address.
    Client(const std::string& url, const config::Config& config, crypto::Secret token);

    // One call. Throws the ComputeError the server answered with; INVALID_STATE when there was no
    // answer, or none of ours.
    [[nodiscard]] Json call(const std::string& path, const Json& input);

private:
    std::string base_;
    crypto::Secret token_;
    net::HttpClient client_;
};

}  // namespace compute::cli
