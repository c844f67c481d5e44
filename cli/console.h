// Where a command writes: results to standard output, everything else to standard error. Results
// are kept and written at once at the end, so that a reader that stops early (`| grep -q`) never
// kills the command half way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace compute::cli {

enum class Style { Plain, Bold, Red, Yellow, Green, Dim };

class Console {
public:
    Console();
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    // Results.
    void line(std::string_view text);
    void text(std::string_view text);  // as it is, without a line break
    void json(const Json& value);      // one line
    // Rows below a header, columns as wide as they must be. Nothing but the header when there are
    // no rows.
    void table(
        const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows
    );
    // Writes what is kept. False when standard output is gone or full.
    bool flush();

    // Remarks, to standard error at once; silent after be_quiet().
    void note(std::string_view text);
    // `CODE: message`, then `Hint: ...` and `Details: ...` when there are any. Never silent.
    void error(
        std::string_view code,
        std::string_view message,
        std::string_view hint,
        std::string_view details = {}
    );
    // A bar that redraws itself, only when standard error is a terminal; `total` 0 ends it.
    void progress(std::string_view label, std::size_t done, std::size_t total);

    void be_quiet() { is_quiet_ = true; }
    [[nodiscard]] bool is_interactive() const { return is_interactive_; }  // a person can be asked
    // Asks on the terminal; true for y or yes.
    [[nodiscard]] bool confirm(std::string_view question);
    // The text in a colour when standard output is a terminal and NO_COLOR is not set.
    [[nodiscard]] std::string styled(Style style, std::string_view text) const;

private:
    std::string kept_;
    bool is_quiet_ = false;
    bool has_colour_ = false;
    bool is_interactive_ = false;
    bool has_bar_ = false;
};

// Text from a database or a network for a terminal: what steers one becomes a space, bytes that are
// no UTF-8 a question mark; at most `max` bytes, cut between characters.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max = 4096);

}  // namespace compute::cli
