#include "modules/capacity/page.h"

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "crypto/crypto.h"

namespace compute::capacity {

schema::Shape limit_shape() {
    return schema::integer({.min = 1, .max = kMaxLimit});
}

schema::Shape cursor_shape() {
    return schema::string({.pattern = "^[A-Za-z0-9_-]{1,512}$", .max_length = 512});
}

std::string encode_cursor(const std::vector<std::string>& key) {
    return crypto::to_base64url(dump_json(key));
}

std::vector<std::string> decode_cursor(std::string_view cursor, std::size_t parts) {
    const auto text = crypto::from_base64url(cursor);
    const Json key = text ? Json::parse(*text, nullptr, false) : Json(Json::value_t::discarded);
    if (!key.is_array() || key.size() != parts) {
        throw invalid_input("cursor: is not a cursor of this list");
    }
    std::vector<std::string> out;
    for (const Json& part : key) {
        if (!part.is_string() ||
            part.get_ref<const std::string&>().find('\0') != std::string::npos) {
            throw invalid_input("cursor: is not a cursor of this list");
        }
        out.push_back(part.get<std::string>());
    }
    return out;
}

}  // namespace compute::capacity
