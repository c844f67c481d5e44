// What stands behind a Shape: one class per kind of value. Inside this room only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "schema/manifest.h"

namespace compute::schema {

// Where in an input a value stands. A chain on the stack: it becomes text only when there is a
// problem to name.
class Path {
public:
    explicit Path(std::string_view root) : name_(root) {}
    Path(const Path& parent, std::string_view member) : parent_(&parent), name_(member) {}
    Path(const Path& parent, std::size_t index)
        : parent_(&parent), index_(index), is_index_(true) {}

    // `nodeGroups[2].gpuCount`; empty at the top.
    [[nodiscard]] std::string str() const;

private:
    const Path* parent_ = nullptr;
    std::string_view name_;
    std::size_t index_ = 0;
    bool is_index_ = false;
};

// Throws INVALID_INPUT `path: reason`; `body: reason` for the whole input.
[[noreturn]] void refuse(const Path& path, const std::string& reason);

// At most 64 bytes of `text`, cut between characters: what a caller sent is echoed only so far.
[[nodiscard]] std::string clipped(std::string_view text);

class Shape::Node {
public:
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    virtual ~Node() = default;

    [[nodiscard]] virtual Json check(const Json& value, const Path& path) const = 0;
    [[nodiscard]] virtual Json json_schema() const = 0;
    // Whether a value of this JSON type could be right at all.
    [[nodiscard]] virtual bool takes_type(const Json& value) const = 0;
    // For messages: "a string".
    [[nodiscard]] virtual std::string noun() const = 0;
};

}  // namespace compute::schema
