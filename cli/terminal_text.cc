#include "cli/terminal_text.h"

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <string>

#include <locale.h>

namespace compute::cli {

namespace {

// The C library knows the widths of characters, but only in a UTF-8 locale; whatever the one of the
// process is, this thread has C.UTF-8 while it lives.
class Utf8Locale {
public:
    Utf8Locale() : previous_(::uselocale(locale())) {}
    ~Utf8Locale() { ::uselocale(previous_); }
    Utf8Locale(const Utf8Locale&) = delete;
    Utf8Locale& operator=(const Utf8Locale&) = delete;

private:
    static locale_t locale() {
        static const locale_t kLocale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
        return kLocale != nullptr ? kLocale : LC_GLOBAL_LOCALE;
    }

    const locale_t previous_;
};

struct Character {
    wchar_t code = 0;
    std::size_t bytes = 1;
    bool is_valid = false;
};

Character first_of(std::string_view text) {
    std::mbstate_t state{};
    wchar_t code = 0;
    const std::size_t bytes = std::mbrtowc(&code, text.data(), text.size(), &state);
    if (bytes == static_cast<std::size_t>(-1) || bytes == static_cast<std::size_t>(-2)) {
        return {};
    }
    return {code, std::max<std::size_t>(bytes, 1), true};
}

bool steers_a_terminal(wchar_t code) {
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool turns_direction = code == 0x200e || code == 0x200f || code == 0x061c ||
                                 (code >= 0x2028 && code <= 0x202e) ||
                                 (code >= 0x2066 && code <= 0x2069);
    return is_control || turns_direction;
}

}  // namespace

std::size_t width_of(std::string_view text) {
    const Utf8Locale locale;
    std::size_t width = 0;
    while (!text.empty()) {
        if (text.front() == '\x1b') {
            text.remove_prefix(std::min(text.find('m'), text.size() - 1) + 1);
            continue;
        }
        const Character character = first_of(text);
        const int columns = character.is_valid ? ::wcwidth(character.code) : 1;
        width += static_cast<std::size_t>(std::max(columns, 0));
        text.remove_prefix(character.bytes);
    }
    return width;
}

// Control characters of both ranges, and marks that turn the direction of writing.
std::string printable(std::string_view text, std::size_t max_bytes) {
    const Utf8Locale locale;
    std::string out;
    while (!text.empty()) {
        const Character character = first_of(text);
        const std::string_view bytes = text.substr(0, character.bytes);
        const std::string_view shown = !character.is_valid                 ? "?"
                                       : steers_a_terminal(character.code) ? " "
                                                                           : bytes;
        if (out.size() + shown.size() > max_bytes) {
            break;
        }
        out += shown;
        text.remove_prefix(character.bytes);
    }
    return out;
}

}  // namespace compute::cli
