// Bodies for a method, made from its own schema: good ones, good ones with something wrong, texts
// that are hardly JSON, and ones as large as a body may be. The same seed gives the same bodies.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace compute::fuzz {

class BodyMaker {
public:
    // `schema` is the method's JSON Schema and outlives this.
    BodyMaker(const nlohmann::json& schema, std::uint64_t seed);

    [[nodiscard]] std::string next();

    // What an answer says of things that are there now: ids, names and cursors that later bodies
    // use, so that they get beyond NOT_FOUND.
    void learn(const nlohmann::json& answer);

private:
    using Json = nlohmann::json;

    [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    [[nodiscard]] bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class List>
    [[nodiscard]] const auto& any_of(const List& list) {
        return list[below(list.size())];
    }

    [[nodiscard]] Json value_for(const Json& schema, int depth);
    [[nodiscard]] Json object_for(const Json& schema, int depth);
    [[nodiscard]] Json array_for(const Json& schema, int depth);
    [[nodiscard]] Json text_for(const Json& schema);
    [[nodiscard]] Json number_for(const Json& schema);
    [[nodiscard]] Json odd_value();
    void spoil(Json& value, const Json& schema);
    [[nodiscard]] std::string spoil_text(std::string text);
    [[nodiscard]] std::string large_body();
    void learn_from(const Json& value, std::string_view name);

    const Json& schema_;
    std::mt19937_64 random_;
    std::vector<Json> samples_;
    std::vector<std::string> known_;  // texts seen in answers
};

}  // namespace compute::fuzz
