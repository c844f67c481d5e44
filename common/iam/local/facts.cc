#include "iam/local/facts.h"

#include <algorithm>

#include "iam/local/glob.h"

namespace compute::iam::local {
namespace {

constexpr std::string_view kPrincipal = "principal.";
constexpr std::string_view kResource = "resource.";
constexpr std::string_view kRequest = "request.";
constexpr std::size_t kMaxNameBytes = 128;

const Json* member(const Json* object, std::string_view name) {
    if (object == nullptr) {
        return nullptr;
    }
    const auto found = object->find(std::string(name));
    return found == object->end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

const Json* Facts::find(std::string_view key) const {
    if (key.starts_with(kPrincipal)) {
        return member(principal, key.substr(kPrincipal.size()));
    }
    if (key.starts_with(kResource)) {
        return member(resource, key.substr(kResource.size()));
    }
    if (key.starts_with(kRequest)) {
        return member(request, key.substr(kRequest.size()));
    }
    return nullptr;
}

bool is_attribute_name(std::string_view name) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto is_fine = [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
               c == '/';
    };
    return !name.empty() && name.size() <= kMaxNameBytes && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(), is_fine);
}

bool is_context_key(std::string_view key) {
    if (key.starts_with(kPrincipal)) {
        return is_attribute_name(key.substr(kPrincipal.size()));
    }
    if (key.starts_with(kResource)) {
        return is_attribute_name(key.substr(kResource.size()));
    }
    return key == "request.time" || key == "request.sourceIp";
}

Template Template::parse(std::string_view text, As as, const std::string& path) {
    Template out;
    const auto add_literal = [&](std::string_view literal) {
        if (!literal.empty()) {
            out.parts_.push_back(
                {false, as == As::Glob ? compile_glob(literal) : std::string(literal)}
            );
        }
    };
    while (true) {
        const std::size_t open = text.find("${");
        if (open == std::string_view::npos) {
            add_literal(text);
            break;
        }
        add_literal(text.substr(0, open));
        const std::size_t close = text.find('}', open);
        if (close == std::string_view::npos) {
            throw invalid_input(path + ": has a ${ without its }");
        }
        const std::string_view key = text.substr(open + 2, close - open - 2);
        if (!is_context_key(key)) {
            throw invalid_input(path + ": unknown key " + std::string(key));
        }
        out.parts_.push_back({true, std::string(key)});
        out.has_variables_ = true;
        text.remove_prefix(close + 1);
    }
    return out;
}

std::optional<std::string_view> Template::render(const Facts& facts, std::string& buffer) const {
    if (parts_.empty()) {
        return std::string_view();
    }
    if (!has_variables_) {
        return parts_.front().text;
    }
    buffer.clear();
    for (const Part& part : parts_) {
        if (!part.is_variable) {
            buffer += part.text;
            continue;
        }
        const Json* value = facts.find(part.text);
        if (value == nullptr || !value->is_string()) {
            return std::nullopt;
        }
        buffer += value->get_ref<const std::string&>();
    }
    return buffer;
}

}  // namespace compute::iam::local
