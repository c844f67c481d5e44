#include "outbox/catalog.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace compute::outbox {
namespace {

constexpr std::size_t kMaxName = 100;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Words of letters, digits, _ and -, each beginning with a letter, joined by dots.
bool is_dotted_name(std::string_view text) {
    bool is_word_start = true;
    for (const char c : text) {
        if (is_word_start ? !is_letter(c) : (c != '.' && !is_name_character(c))) {
            return false;
        }
        is_word_start = c == '.';
    }
    return !is_word_start && text.size() <= kMaxName;
}

void check_family(const EventFamily& family) {
    if (!is_dotted_name(family.name)) {
        throw invalid_config(
            "event family: '" + family.name + "' is not a name like pool or acme.widget"
        );
    }
    for (const std::string& type : family.types) {
        if (!is_dotted_name(type) || !type.starts_with(family.name + ".")) {
            throw invalid_config(
                "event family " + family.name + ": the type '" + type + "' is not one of its own"
            );
        }
    }
}

}  // namespace

EventCatalog::EventCatalog(std::vector<EventFamily> families) : families_(std::move(families)) {
    std::sort(families_.begin(), families_.end(), [](const EventFamily& a, const EventFamily& b) {
        return a.name < b.name;
    });
    for (std::size_t i = 0; i < families_.size(); ++i) {
        check_family(families_[i]);
        if (i > 0 && families_[i].name == families_[i - 1].name) {
            throw invalid_config("event family: '" + families_[i].name + "' is declared twice");
        }
    }
}

const EventFamily* EventCatalog::find_family(std::string_view type) const {
    for (std::size_t dot = type.rfind('.'); dot != std::string_view::npos && dot > 0;
         dot = type.rfind('.', dot - 1)) {
        const std::string_view name = type.substr(0, dot);
        const auto found = std::lower_bound(
            families_.begin(),
            families_.end(),
            name,
            [](const EventFamily& family, std::string_view wanted) { return family.name < wanted; }
        );
        if (found != families_.end() && found->name == name) {
            return &*found;
        }
    }
    return nullptr;
}

bool EventCatalog::is_emittable(std::string_view type) const {
    const EventFamily* family = find_family(type);
    return family != nullptr && is_dotted_name(type) &&
           (family->types.empty() ||
            std::find(family->types.begin(), family->types.end(), type) != family->types.end());
}

}  // namespace compute::outbox
