// Reading the head of a request: the one place where bytes become a request line and fields. Strict
// on purpose: what two parsers could read in two ways is refused, so nothing can be smuggled past a
// proxy in front of us.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace compute::daemon::http {

struct Field {
    std::string name;  // lower case
    std::string value;
};

struct Head {
    std::string method;
    std::string target;
    int minor_version = 1;  // HTTP/1.x
    std::vector<Field> fields;
    bool is_chunked = false;
    std::optional<std::size_t> content_length;  // kMaxBodyBytes + 1 stands for everything above

    // The only value of `name` (lower case); nullopt when absent or given more than once.
    [[nodiscard]] const std::string* find_only(std::string_view name) const;
    // Whether a list field (Connection, Upgrade, Expect) has `token`, in any case.
    [[nodiscard]] bool has_token(std::string_view name, std::string_view token) const;
};

// A head that is no HTTP: answered once, then the connection is closed.
struct HeadFault {
    int status = 400;  // 400, 431 or 501
    std::string message;
};

struct HeadLimits {
    std::size_t max_bytes = 16384;  // request line, fields and the empty line together
    std::size_t max_fields = 100;
};

// Looks for a complete head at the start of the bytes it is shown, again and again as more arrive.
class HeadReader {
public:
    explicit HeadReader(HeadLimits limits) : limits_(limits) {}

    enum class State { NeedMore, Done, Fault };
    // `bytes` starts with the same bytes as in the last call. Linear over all calls together.
    State read(std::string_view bytes);

    [[nodiscard]] std::size_t size() const noexcept {
        return size_;
    }  // bytes of the head, after Done
    [[nodiscard]] const Head& head() const noexcept {
        return head_;
    }  // after Fault: what was readable before it
    [[nodiscard]] const HeadFault& fault() const noexcept { return fault_; }
    // Whether a byte of the request line was seen.
    [[nodiscard]] bool has_started() const noexcept { return scanned_ > start_; }
    void reset();

private:
    State fail(int status, std::string message);
    bool take_line(std::string_view line);
    bool take_request_line(std::string_view line);
    bool take_field(std::string_view line);
    bool finish();
    bool check_framing();

    HeadLimits limits_;
    std::size_t start_ = 0;  // behind one leading empty line
    std::size_t line_start_ = 0;
    std::size_t scanned_ = 0;
    std::size_t size_ = 0;
    bool has_request_line_ = false;
    Head head_;
    HeadFault fault_;
};

}  // namespace compute::daemon::http
