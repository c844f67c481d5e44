// The one file pair that knows cpp-httplib. It derives from httplib::Server, keeps its sockets and
// threads unused, and calls its process_request with a stream in memory: a rebuilt minimal head
// goes in (the real one was read and checked by us), the answer's bytes come out, to be sent in one
// piece.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "daemon/http/handler.h"

namespace compute::daemon::http {

// Thread-safe.
class HttplibAdapter {
public:
    explicit HttplibAdapter(std::chrono::milliseconds idle_timeout);
    ~HttplibAdapter();
    HttplibAdapter(const HttplibAdapter&) = delete;
    HttplibAdapter& operator=(const HttplibAdapter&) = delete;

    struct Exchange {
        bool is_head = false;     // the answer has no body
        bool must_close = false;  // announced in the answer
        const std::string& request_id;
        Answer& answer;  // moved from
    };
    // The complete bytes of the answer.
    [[nodiscard]] std::string run(const Exchange& exchange);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::daemon::http
