// What all shapes share, and the two that wrap others: nullable and either.
#include <utility>

#include "schema/node.h"

namespace compute::schema {
namespace {

constexpr std::size_t kMaxEcho = 64;

// The schema of a value that may also be null.
Json with_null(Json schema) {
    if (const auto choices = schema.find("enum"); choices != schema.end()) {
        choices->push_back(nullptr);
    }
    if (const auto type = schema.find("type"); type != schema.end() && type->is_string()) {
        *type = Json::array({*type, "null"});
        return schema;
    }
    if (const auto any = schema.find("anyOf"); any != schema.end()) {
        any->push_back(Json{{"type", "null"}});
        return schema;
    }
    return Json{{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}};
}

class NullableNode final : public Shape::Node {
public:
    explicit NullableNode(Shape inner) : inner_(std::move(inner)) {}

    Json check(const Json& value, const Path& path) const override {
        return value.is_null() ? value : inner_.node().check(value, path);
    }
    Json json_schema() const override { return with_null(inner_.json_schema()); }
    bool takes_type(const Json& value) const override {
        return value.is_null() || inner_.node().takes_type(value);
    }
    std::string noun() const override { return inner_.node().noun() + " or null"; }

private:
    Shape inner_;
};

class EitherNode final : public Shape::Node {
public:
    explicit EitherNode(std::vector<Shape> alternatives) : alternatives_(std::move(alternatives)) {}

    Json check(const Json& value, const Path& path) const override {
        std::size_t possible = 0;
        for (const Shape& alternative : alternatives_) {
            possible += alternative.node().takes_type(value) ? 1 : 0;
        }
        std::size_t tried = 0;
        for (const Shape& alternative : alternatives_) {
            if (!alternative.node().takes_type(value)) {
                continue;
            }
            ++tried;
            // The last one that fits by type says what is wrong, so that a caller hears "must be at
            // least 1" and not a list of nouns.
            if (tried == possible) {
                return alternative.node().check(value, path);
            }
            try {
                return alternative.node().check(value, path);
            } catch (const ComputeError&) {
                continue;
            }
        }
        refuse(path, "must be " + noun());
    }
    Json json_schema() const override {
        Json any = Json::array();
        for (const Shape& alternative : alternatives_) {
            any.push_back(alternative.json_schema());
        }
        return Json{{"anyOf", std::move(any)}};
    }
    bool takes_type(const Json& value) const override {
        for (const Shape& alternative : alternatives_) {
            if (alternative.node().takes_type(value)) {
                return true;
            }
        }
        return false;
    }
    std::string noun() const override {
        std::string out;
        for (const Shape& alternative : alternatives_) {
            out += (out.empty() ? "" : " or ") + alternative.node().noun();
        }
        return out;
    }

private:
    std::vector<Shape> alternatives_;
};

}  // namespace

std::string Path::str() const {
    if (parent_ == nullptr) {
        return std::string(name_);
    }
    std::string out = parent_->str();
    if (is_index_) {
        return out + "[" + std::to_string(index_) + "]";
    }
    return out.empty() ? clipped(name_) : out + "." + clipped(name_);
}

void refuse(const Path& path, const std::string& reason) {
    const std::string where = path.str();
    throw invalid_input((where.empty() ? std::string("body") : where) + ": " + reason);
}

std::string clipped(std::string_view text) {
    if (text.size() <= kMaxEcho) {
        return std::string(text);
    }
    std::size_t end = kMaxEcho;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return std::string(text.substr(0, end)) + "...";
}

Json Shape::check(const Json& value, const std::string& path) const {
    return node_->check(value, Path(path));
}
Json Shape::json_schema() const {
    return node_->json_schema();
}
Shape Shape::nullable() const {
    return Shape(std::make_shared<NullableNode>(*this));
}

Shape either(std::vector<Shape> alternatives) {
    return Shape(std::make_shared<EitherNode>(std::move(alternatives)));
}

}  // namespace compute::schema
