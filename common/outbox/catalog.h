// The event catalog: which families there are, by the modules and the configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/event.h"

namespace compute::outbox {

// Immutable after construction; thread-safe.
class EventCatalog {
public:
    EventCatalog() = default;
    // INVALID_CONFIG when a family's name is malformed or declared twice.
    explicit EventCatalog(std::vector<EventFamily> families);

    [[nodiscard]] const std::vector<EventFamily>& families() const noexcept {
        return families_;
    }  // sorted by name
    // The family that covers `type`: the longest name that is a prefix of it at a dot.
    [[nodiscard]] const EventFamily* find_family(std::string_view type) const;
    // Whether `type` may be emitted: a family covers it and, when that family lists its types,
    // lists it.
    [[nodiscard]] bool is_emittable(std::string_view type) const;

private:
    std::vector<EventFamily> families_;
};

}  // namespace compute::outbox
