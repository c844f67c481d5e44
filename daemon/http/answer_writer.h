// From an answer to the bytes that are sent.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/handler.h"

namespace compute::daemon::http {

// What an answer's bytes depend on beside the answer.
struct AnswerFrame {
    bool is_head = false;     // the request was a HEAD: everything but the body
    bool must_close = false;  // announced in the answer
    std::string_view request_id;
};

// The complete bytes, to be sent in one piece. A header of the answer whose name or value could
// break out of its line is left out.
[[nodiscard]] std::string answer_bytes(const AnswerFrame& frame, const Answer& answer);

}  // namespace compute::daemon::http
