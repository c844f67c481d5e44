#include "capacity/name_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"

namespace compute::capacity {
namespace {

constexpr std::size_t kMaxNameLength = 63;
constexpr std::size_t kMaxDigits = 18;  // fits std::uint64_t

// `first` to `last`; every number is written at least `width` wide. Sorted by width, a range of
// natural numbers may grow wider.
struct Range {
    std::size_t width = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

struct ParsedList {
    std::string_view prefix;
    std::string_view suffix;
    std::vector<Range> ranges;
    bool has_bracket = false;
};

[[noreturn]] void fail(std::string_view field, const std::string& reason) {
    throw invalid_input(std::string(field) + ": " + reason);
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_node_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxNameLength && name[0] >= 'a' && name[0] <= 'z' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-';
           });
}

std::string padded(std::uint64_t value, std::size_t width) {
    std::string text = std::to_string(value);
    return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// Whether zeros stand before the number; 0 itself is a number.
bool is_padded(std::string_view digits) {
    return digits.size() > 1 && digits.front() == '0';
}

std::uint64_t parse_number(std::string_view text, std::string_view field) {
    if (text.empty() || text.size() > kMaxDigits ||
        !std::all_of(text.begin(), text.end(), is_digit)) {
        fail(field, "an item in brackets must be a number of 1 to 18 digits or a range of two");
    }
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Range parse_item(std::string_view item, std::string_view field) {
    const auto dash = item.find('-');
    if (dash == std::string_view::npos) {
        const std::uint64_t value = parse_number(item, field);
        return {item.size(), value, value};
    }
    const std::string_view from = item.substr(0, dash);
    const std::string_view to = item.substr(dash + 1);
    const Range range{from.size(), parse_number(from, field), parse_number(to, field)};
    if (range.last < range.first) {
        fail(field, "range " + std::string(item) + " runs backwards");
    }
    if (from.size() != to.size() && (is_padded(from) || is_padded(to))) {
        fail(
            field,
            "range " + std::string(item) + ": numbers with leading zeros must be equally wide"
        );
    }
    return range;
}

ParsedList parse_list(std::string_view list, std::string_view field) {
    if (list.size() > kMaxNameListLength) {
        fail(field, "must be at most " + std::to_string(kMaxNameListLength) + " characters");
    }
    const auto open = list.find('[');
    const auto close = list.find(']');
    if (open == std::string_view::npos && close == std::string_view::npos) {
        return {list, {}, {}, false};
    }
    if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
        list.find('[', open + 1) != std::string_view::npos ||
        list.find(']', close + 1) != std::string_view::npos) {
        fail(field, "must have at most one pair of brackets");
    }
    ParsedList parsed{list.substr(0, open), list.substr(close + 1), {}, true};
    std::string_view rest = list.substr(open + 1, close - open - 1);
    std::uint64_t count = 0;
    while (true) {
        const auto comma = rest.find(',');
        parsed.ranges.push_back(parse_item(rest.substr(0, comma), field));
        // Counted before anything is expanded: a range of 10^17 names costs nothing.
        count += parsed.ranges.back().last - parsed.ranges.back().first + 1;
        if (count > kMaxNamesPerList) {
            fail(field, "must have at most " + std::to_string(kMaxNamesPerList) + " names");
        }
        if (comma == std::string_view::npos) {
            return parsed;
        }
        rest.remove_prefix(comma + 1);
    }
}

std::vector<std::string> expand(const ParsedList& list, std::string_view field) {
    std::vector<std::string> names;
    if (!list.has_bracket) {
        names.emplace_back(list.prefix);
    }
    for (const Range& range : list.ranges) {
        for (std::uint64_t value = range.first; value <= range.last; ++value) {
            names.push_back(
                std::string(list.prefix) + padded(value, range.width) + std::string(list.suffix)
            );
        }
    }
    std::set<std::string_view> seen;
    for (const std::string& name : names) {
        if (!is_node_name(name)) {
            fail(
                field,
                "\"" + name +
                    "\" is no node name (a lower case letter, then at most 62 lower case letters, "
                    "digits and hyphens)"
            );
        }
        if (!seen.insert(name).second) {
            fail(field, "name " + name + " is given twice");
        }
    }
    return names;
}

bool has_leading_zero(std::uint64_t value, std::size_t width) {
    return is_padded(padded(value, width));
}

// Joins neighbours; each of `ranges` is one width throughout, and they are sorted by width, then
// number, without overlap.
std::vector<Range> joined(const std::vector<Range>& ranges) {
    std::vector<Range> out;
    for (const Range& next : ranges) {
        const bool is_neighbour = !out.empty() && out.back().last + 1 == next.first;
        // 8-9 and 10-12 are 8-12: natural numbers may grow wider, padded ones may not.
        if (is_neighbour && (out.back().width == next.width ||
                             (!has_leading_zero(out.back().first, out.back().width) &&
                              !has_leading_zero(next.first, next.width)))) {
            out.back().last = next.last;
        } else {
            out.push_back(next);
        }
    }
    return out;
}

// Splits a range of natural numbers that grows wider into ranges of one width each, so that all can
// be sorted.
void split_by_width(const Range& range, std::vector<Range>& out) {
    std::uint64_t first = range.first;
    while (true) {
        const std::size_t width = std::max(range.width, std::to_string(first).size());
        std::uint64_t limit = 1;
        for (std::size_t i = 0; i < width; ++i) {
            limit *= 10;
        }
        const std::uint64_t last = std::min(range.last, limit - 1);
        out.push_back({width, first, last});
        if (last == range.last) {
            return;
        }
        first = last + 1;
    }
}

std::vector<Range> normalized(const std::vector<Range>& ranges) {
    std::vector<Range> split;
    for (const Range& range : ranges) {
        split_by_width(range, split);
    }
    std::sort(split.begin(), split.end(), [](const Range& a, const Range& b) {
        return std::pair(a.width, a.first) < std::pair(b.width, b.first);
    });
    return joined(split);
}

std::string item_text(const Range& range) {
    const std::string first = padded(range.first, range.width);
    return range.first == range.last ? first : first + "-" + padded(range.last, range.width);
}

std::string list_text(
    std::string_view prefix, std::string_view suffix, const std::vector<Range>& ranges
) {
    std::string text(prefix);
    if (ranges.size() == 1 && ranges[0].first == ranges[0].last) {
        return text + item_text(ranges[0]) + std::string(suffix);
    }
    text += '[';
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        text += (i == 0 ? "" : ",") + item_text(ranges[i]);
    }
    return text + "]" + std::string(suffix);
}

// Writes `ranges` as lists within the limits.
void append_lists(
    const std::string& prefix,
    const std::string& suffix,
    const std::vector<Range>& ranges,
    std::vector<std::string>& out
) {
    std::vector<Range> part;
    std::size_t names = 0;
    std::size_t length = prefix.size() + suffix.size() + 2;
    const auto flush = [&] {
        if (!part.empty()) {
            out.push_back(list_text(prefix, suffix, part));
        }
        part.clear();
        names = 0;
        length = prefix.size() + suffix.size() + 2;
    };
    for (Range range : ranges) {
        while (true) {
            const std::size_t item_length = 2 * kMaxDigits + 2;
            if (names == kMaxNamesPerList || length + item_length > kMaxNameListLength) {
                flush();
            }
            Range piece = range;
            piece.last =
                std::min<std::uint64_t>(range.last, range.first + (kMaxNamesPerList - names) - 1);
            part.push_back(piece);
            names += static_cast<std::size_t>(piece.last - piece.first + 1);
            length += item_text(piece).size() + 1;
            if (piece.last == range.last) {
                break;
            }
            range.first = piece.last + 1;
            range.width = std::max(range.width, std::to_string(range.first).size());
        }
    }
    flush();
}

}  // namespace

std::vector<std::string> expand_names(std::string_view list, std::string_view field) {
    return expand(parse_list(list, field), field);
}

std::string canonical_names(std::string_view list, std::string_view field) {
    const ParsedList parsed = parse_list(list, field);
    (void)expand(parsed, field);
    return parsed.has_bracket ? list_text(parsed.prefix, parsed.suffix, normalized(parsed.ranges))
                              : std::string(list);
}

std::vector<std::string> compress_names(const std::vector<std::string>& names) {
    std::map<std::pair<std::string, std::string>, std::vector<Range>> families;
    std::vector<std::string> out;
    for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
        const auto last = name.find_last_of("0123456789");
        std::size_t begin = last == std::string::npos ? name.size() : last;
        while (begin > 0 && begin < name.size() && is_digit(name[begin - 1])) {
            --begin;
        }
        const std::size_t width = last == std::string::npos ? 0 : last + 1 - begin;
        if (width == 0 || width > kMaxDigits) {
            out.push_back(name);
            continue;
        }
        const std::uint64_t value =
            parse_number(std::string_view(name).substr(begin, width), "names");
        families[{name.substr(0, begin), name.substr(begin + width)}].push_back(
            {width, value, value}
        );
    }
    for (const auto& [ends, ranges] : families) {
        append_lists(ends.first, ends.second, normalized(ranges), out);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace compute::capacity
