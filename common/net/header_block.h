// The header lines of one request in one fixed buffer: nothing is allocated per request.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

struct curl_slist;

namespace compute::net {

// Not thread-safe. Neither copied nor moved: its lines point into itself.
class HeaderBlock {
public:
    static constexpr std::size_t kMaxBytes = 4096;
    static constexpr std::size_t kMaxLines = 24;

    HeaderBlock();
    HeaderBlock(const HeaderBlock&) = delete;
    HeaderBlock& operator=(const HeaderBlock&) = delete;

    // Adds "name: value". Throws INTERNAL_ERROR when a part holds a control character (a line could
    // be smuggled in), `value` is empty, or the block is full.
    void add(std::string_view name, std::string_view value);
    void clear() noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return lines_; }
    [[nodiscard]] std::string_view line(std::size_t index) const noexcept;
    // As libcurl takes it; valid until the next change. Holds two lines more, which switch off
    // headers libcurl would add.
    [[nodiscard]] curl_slist* list() noexcept;

private:
    struct Node {  // the layout of curl_slist
        char* data;
        Node* next;
    };
    void append(std::string_view name, std::string_view separator, std::string_view value);

    std::array<char, kMaxBytes> buffer_;
    std::array<Node, kMaxLines> nodes_;
    std::size_t bytes_ = 0;
    std::size_t lines_ = 0;
};

}  // namespace compute::net
