#include "iam/local/glob.h"

#include <algorithm>
#include <cstddef>

namespace compute::iam::local {
namespace {

constexpr char kAnyRun = '\xFF';
constexpr char kAnyOne = '\xFE';

char folded(char c, Fold fold) noexcept {
    if (fold == Fold::IgnoreCase && c >= 'A' && c <= 'Z') {
        return static_cast<char>(c - 'A' + 'a');
    }
    return c;
}

bool is_continuation(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// How many bytes of `text` at `at` the pattern's character `p` takes; 0 when it does not match. `?`
// takes a whole character and so never starts inside one.
std::size_t step(char p, std::string_view text, std::size_t at, Fold fold) noexcept {
    if (p != kAnyOne) {
        return folded(p, fold) == folded(text[at], fold) ? 1 : 0;
    }
    if (is_continuation(text[at])) {
        return 0;
    }
    std::size_t size = 1;
    while (at + size < text.size() && is_continuation(text[at + size])) {
        ++size;
    }
    return size;
}

}  // namespace

std::string compile_glob(std::string_view pattern) {
    std::string compiled(pattern);
    std::replace(compiled.begin(), compiled.end(), '*', kAnyRun);
    std::replace(compiled.begin(), compiled.end(), '?', kAnyOne);
    return compiled;
}

bool glob_matches(std::string_view compiled, std::string_view text, Fold fold) noexcept {
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t after_run = kNone;  // the pattern behind the last `*`
    std::size_t resume = 0;         // where in the text that rest is tried next
    while (t < text.size()) {
        if (p < compiled.size() && compiled[p] == kAnyRun) {
            after_run = ++p;
            resume = t;
            continue;
        }
        const std::size_t taken = p < compiled.size() ? step(compiled[p], text, t, fold) : 0;
        if (taken > 0) {
            ++p;
            t += taken;
            continue;
        }
        if (after_run == kNone) {
            return false;
        }
        p = after_run;
        t = ++resume;
    }
    while (p < compiled.size() && compiled[p] == kAnyRun) {
        ++p;
    }
    return p == compiled.size();
}

bool text_equals(std::string_view a, std::string_view b, Fold fold) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [fold](char x, char y) {
        return folded(x, fold) == folded(y, fold);
    });
}

}  // namespace compute::iam::local
