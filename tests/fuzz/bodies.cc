#include "tests/fuzz/bodies.h"

#include <algorithm>
#include <array>

#include "schema/sample.h"

namespace compute::fuzz {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kBodyBytes = 65'536;
constexpr std::size_t kMaxKnown = 64;
constexpr int kMaxDepth = 6;

// Texts that have surprised somebody's parser, database or terminal.
const std::vector<std::string>& odd_texts() {
    static const std::vector<std::string> kTexts = {
        "",
        " ",
        "acme",
        "root",
        "globex",
        "null",
        "'; drop table pools; --",
        "%s%n%x",
        "../../etc/passwd",
        "a/b",
        "*",
        "pool.*",
        "${tenantId}",
        "\x7f",
        "\t\r\n",
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x92\xa5",
        "\xe2\x80\xae"
        "evil",
        "\xef\xbb\xbf"
        "bom",
        "gpu-[0001-4096]",
        "gpu-[1-99999999]",
        "gpu-[",
        "https://example.com/hook",
        "https://[::ffff:127.0.0.1]/",
        "https://0x7f.1/",
        "http://user:pass@h/",
        "pool_00000000000000000000000000",
        "whk_00000000000000000000000000",
        "1e400",
        "-0",
        "9007199254740993",
        "2026-01-01T00:00:00Z"};
    return kTexts;
}

const std::vector<std::string>& odd_fragments() {
    static const std::vector<std::string> kFragments = {
        "\\u0000",
        "\\ud800",
        "\\udc00",
        "1e999",
        "-",
        "00",
        "[",
        "{",
        "}",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "//x",
        "/**/",
        "NaN",
        "Infinity",
        "true",
        "nul",
        "\xff",
        "\xc0\x80",
        "\xed\xa0\x80",
        "\xef\xbb\xbf",
        "9007199254740993",
        "-9223372036854775809",
        "1.0000000000000001"};
    return kFragments;
}

std::string times(std::string_view text, std::size_t count) {
    std::string out;
    out.reserve(text.size() * count);
    for (std::size_t i = 0; i < count; ++i) {
        out += text;
    }
    return out;
}

}  // namespace

BodyMaker::BodyMaker(const Json& schema, std::uint64_t seed)
    : schema_(schema), random_(seed), samples_(schema::sample_inputs(schema)) {
    if (samples_.empty()) {
        samples_.push_back(Json::object());
    }
}

std::string BodyMaker::next() {
    if (one_in(200)) {
        return large_body();
    }
    Json value = one_in(3) ? value_for(schema_, 0) : any_of(samples_);
    if (value.is_object() && value.contains("tenantId") && !one_in(10)) {
        value["tenantId"] = "acme";
    }
    for (std::uint64_t i = below(4); i > 0; --i) {
        spoil(value, schema_);
    }
    std::string text = value.dump(-1, ' ', one_in(5), Json::error_handler_t::replace);
    return one_in(4) ? spoil_text(std::move(text)) : text;
}

void BodyMaker::learn(const Json& answer) {
    learn_from(answer, "");
}

void BodyMaker::learn_from(const Json& value, std::string_view name) {
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        const bool is_handle = name == "id" || name.ends_with("Id") || name == "name" ||
                               name == "nextCursor" || name.ends_with("Hash");
        if (is_handle && std::find(known_.begin(), known_.end(), text) == known_.end()) {
            if (known_.size() < kMaxKnown) {
                known_.push_back(text);
            } else {
                known_[below(kMaxKnown)] = text;
            }
        }
        return;
    }
    if (value.is_structured()) {
        for (const auto& [key, member] : value.items()) {
            learn_from(member, value.is_object() ? std::string_view(key) : name);
        }
    }
}

Json BodyMaker::value_for(const Json& schema, int depth) {
    for (const char* const choice : {"oneOf", "anyOf"}) {
        if (schema.contains(choice) && !schema.at(choice).empty()) {
            return value_for(any_of(schema.at(choice)), depth);
        }
    }
    if (schema.contains("enum") && !schema.at("enum").empty()) {
        return any_of(schema.at("enum"));
    }
    Json type = schema.value("type", Json("object"));
    if (type.is_array() && !type.empty()) {
        type = any_of(type);
    }
    if (type == "string") {
        return text_for(schema);
    }
    if (type == "integer" || type == "number") {
        return number_for(schema);
    }
    if (type == "boolean") {
        return one_in(2);
    }
    if (type == "array") {
        return array_for(schema, depth);
    }
    return type == "object" ? object_for(schema, depth) : Json();
}

Json BodyMaker::object_for(const Json& schema, int depth) {
    Json out = Json::object();
    if (depth > kMaxDepth) {
        return out;
    }
    const Json required = schema.value("required", Json::array());
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, property] : properties.items()) {
        const bool is_required =
            std::find(required.begin(), required.end(), Json(name)) != required.end();
        if (is_required || one_in(2)) {
            out[name] = value_for(property, depth + 1);
        }
    }
    if (schema.contains("additionalProperties") && schema.at("additionalProperties").is_object()) {
        for (std::uint64_t i = below(4); i > 0; --i) {
            out[any_of(odd_texts())] = value_for(schema.at("additionalProperties"), depth + 1);
        }
    }
    return out;
}

Json BodyMaker::array_for(const Json& schema, int depth) {
    Json out = Json::array();
    if (depth > kMaxDepth) {
        return out;
    }
    const std::size_t least = schema.value("minItems", std::size_t{0});
    const std::size_t most = std::min<std::size_t>(schema.value("maxItems", least + 3), least + 3);
    for (std::size_t i = least + below(most - least + 1); i > 0; --i) {
        out.push_back(value_for(schema.value("items", Json::object()), depth + 1));
    }
    return out;
}

Json BodyMaker::text_for(const Json& schema) {
    if (!known_.empty() && one_in(2)) {
        return any_of(known_);
    }
    const std::size_t least = schema.value("minLength", std::size_t{0});
    const std::size_t most = schema.value("maxLength", std::size_t{300});
    switch (below(6)) {
        case 0:
            return any_of(odd_texts());
        case 1:
            return std::string(std::min<std::size_t>(most, 9'000), 'a');
        case 2:
            return std::string(std::min<std::size_t>(most, 9'000) + 1, 'a');
        case 3:
            return std::string(least == 0 ? 0 : least - 1, 'a');
        default: {
            const auto text = schema::find_matching_text(schema.value("pattern", ""), least);
            return text ? Json(*text) : Json("a" + std::to_string(below(1'000)));
        }
    }
}

Json BodyMaker::number_for(const Json& schema) {
    const auto least = schema.value("minimum", std::int64_t{0});
    const auto most = schema.value("maximum", std::int64_t{1'000'000});
    switch (below(8)) {
        case 0:
            return least - 1;
        case 1:
            return most < 9'007'199'254'740'991 ? most + 1 : most;
        case 2:
            return most;
        case 3:
            return 1.5;
        case 4:
            return 1e300;
        case 5:
            return least;
        default:
            return least + static_cast<std::int64_t>(below(100));
    }
}

Json BodyMaker::odd_value() {
    switch (below(10)) {
        case 0:
            return nullptr;
        case 1:
            return one_in(2);
        case 2:
            return Json::array();
        case 3:
            return Json::object();
        case 4:
            return Json::array({Json::array({Json::object({{"a", 1}})})});
        case 5:
            return -1;
        case 6:
            return 9'007'199'254'740'991;
        case 7:
            return 0.1;
        default:
            return any_of(odd_texts());
    }
}

// Changes one place, chosen by walking down at random.
void BodyMaker::spoil(Json& value, const Json& schema) {
    Json* here = &value;
    const Json* rules = &schema;
    static const Json kNone = Json::object();
    while (here->is_structured() && !here->empty() && !one_in(3)) {
        auto member = here->begin();
        std::advance(member, static_cast<std::ptrdiff_t>(below(here->size())));
        if (here->is_object()) {
            const Json& properties =
                rules->contains("properties") ? rules->at("properties") : kNone;
            rules = properties.contains(member.key()) ? &properties.at(member.key()) : &kNone;
        } else {
            rules = rules->contains("items") ? &rules->at("items") : &kNone;
        }
        here = &*member;
    }
    switch (below(5)) {
        case 0:
            *here = odd_value();
            break;
        case 1:
            *here = value_for(*rules, 2);
            break;
        case 2:
            if (here->is_object()) {
                (*here)[any_of(odd_texts())] = odd_value();
            } else if (here->is_array()) {
                here->push_back(here->empty() ? odd_value() : here->front());
            }
            break;
        case 3:
            if (here->is_object() && !here->empty()) {
                auto member = here->begin();
                std::advance(member, static_cast<std::ptrdiff_t>(below(here->size())));
                here->erase(member);
            }
            break;
        default:
            if (here->is_string()) {
                *here = spoil_text(here->get<std::string>());
            }
    }
}

std::string BodyMaker::spoil_text(std::string text) {
    for (std::uint64_t i = 1 + below(3); i > 0; --i) {
        const std::size_t place = text.empty() ? 0 : below(text.size() + 1);
        switch (below(5)) {
            case 0:
                text.insert(place, any_of(odd_fragments()));
                break;
            case 1:
                text.resize(place);
                break;
            case 2:
                if (place < text.size()) {
                    text[place] = static_cast<char>(random_());
                }
                break;
            case 3:
                text.insert(place, text.substr(0, below(40)));
                break;
            default:
                text.erase(place, below(8));
        }
    }
    return text;
}

// As much as a body may hold, in the shapes that make a careless reader slow.
std::string BodyMaker::large_body() {
    const Json base = any_of(samples_);
    std::string name = "x";
    if (base.is_object() && !base.empty()) {
        auto member = base.begin();
        std::advance(member, static_cast<std::ptrdiff_t>(below(base.size())));
        name = member.key();
    }
    const std::string head = "{\"" + name + "\":";
    const std::size_t room = kBodyBytes - head.size() - 1;
    const auto filled = [&](std::string_view piece) { return times(piece, room / piece.size()); };
    std::string body;
    switch (below(9)) {
        case 0:
            body = head + "\"" + std::string(room - 2, 'a') + "\"}";
            break;
        case 1:
            body = head + filled("[");
            break;
        case 2:
            body = head + filled("{\"a\":");
            break;
        case 3:
            body = head + "[" + filled("1,").substr(0, room - 4) + "1]}";
            break;
        case 4:
            body = head + filled("9");
            break;
        case 5: {
            body = "{";
            for (int i = 0; body.size() < kBodyBytes - 16; ++i) {
                body += "\"k" + std::to_string(i) + "\":0,";
            }
            body += "\"z\":0}";
            break;
        }
        case 6:
            body = head + "\"" + filled("\\u00e4").substr(0, (room - 2) / 6 * 6) + "\"}";
            break;
        case 7: {
            const std::string piece = base.dump() + ",";
            body = head + "[" + times(piece, (room - 8) / piece.size()) + base.dump() + "]}";
            break;
        }
        default: {
            Json wide = base;
            Json& member = wide.is_object() ? wide[name] : wide;
            member = "gpu-[" + filled("1,").substr(0, 60'000) + "1]";
            body = wide.dump();
        }
    }
    body.resize(std::min(body.size(), kBodyBytes));
    return body;
}

}  // namespace compute::fuzz
