#include "net/header_block.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <curl/curl.h>

#include "core/error.h"

namespace compute::net {
namespace {

// A header without a value tells libcurl to leave its own out: no body waits for "100 Continue",
// nothing is negotiated.
char kNoExpect[] = "Expect:";
char kNoAccept[] = "Accept:";

bool has_control(std::string_view text) noexcept {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

}  // namespace

HeaderBlock::HeaderBlock() {
    static_assert(
        sizeof(Node) == sizeof(curl_slist) && offsetof(Node, next) == offsetof(curl_slist, next)
    );
    clear();
}

void HeaderBlock::add(std::string_view name, std::string_view value) {
    if (name.empty() || value.empty() || has_control(name) || has_control(value) ||
        name.find_first_of(": ;\t") != std::string_view::npos) {
        throw internal_error(
            "header block: unusable header \"" + std::string(name.substr(0, 64)) + "\""
        );
    }
    append(name, ": ", value);
}

void HeaderBlock::clear() noexcept {
    bytes_ = 0;
    lines_ = 0;
}

std::string_view HeaderBlock::line(std::size_t index) const noexcept {
    return nodes_[index].data;
}

curl_slist* HeaderBlock::list() noexcept {
    nodes_[lines_] = {kNoExpect, &nodes_[lines_ + 1]};
    nodes_[lines_ + 1] = {kNoAccept, nullptr};
    for (std::size_t i = 0; i < lines_; ++i) {
        nodes_[i].next = &nodes_[i + 1];
    }
    return reinterpret_cast<curl_slist*>(nodes_.data());
}

void HeaderBlock::append(
    std::string_view name, std::string_view separator, std::string_view value
) {
    const std::size_t size = name.size() + separator.size() + value.size() + 1;
    if (lines_ + 2 >= kMaxLines || bytes_ + size > kMaxBytes) {
        throw internal_error("header block: full at \"" + std::string(name.substr(0, 64)) + "\"");
    }
    char* start = buffer_.data() + bytes_;
    char* end = std::copy(name.begin(), name.end(), start);
    end = std::copy(separator.begin(), separator.end(), end);
    end = std::copy(value.begin(), value.end(), end);
    *end = '\0';
    nodes_[lines_++] = {start, nullptr};
    bytes_ += size;
}

}  // namespace compute::net
