// What plan and apply take.
#pragma once

#include "method/context.h"
#include "modules/fleet/plan.h"

namespace compute::fleet {

struct FleetInput {
    Document document;
    bool prune = false;
};

template <class Input>
[[nodiscard]] schema::Manifest<Input> fleet_manifest() {
    schema::Manifest<Input> manifest;
    manifest.template required<Document>("document", &Input::document, document_shape());
    manifest.template defaulted<bool>(
        "prune",
        &Input::prune,
        schema::boolean(),
        "takes away what an apply created and the document no longer has; default false"
    );
    return manifest;
}

// Refers to both arguments.
[[nodiscard]] PlanRequest plan_request(const method::Context& context, const FleetInput& input);

}  // namespace compute::fleet
