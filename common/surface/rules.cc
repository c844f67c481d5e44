#include "surface/surface.h"

namespace compute::surface {

const std::vector<Rule>& all_rules() {
    static const std::vector<Rule> rules{
        {"action-changed", "a served method is decided as another action"},
        {"additional-properties-closed", "fields that were taken unnamed are refused"},
        {"alternative-lost", "one of several alternatives of a value is no longer taken"},
        {"alternatives-changed",
         "a pair of action and resource that a method may be decided on is gone"},
        {"bound-tightened",
         "a minimum was raised or added, a maximum lowered or added, items must be unique"},
        {"composition-changed", "a rule between fields was added or changed"},
        {"enum-added", "a value that was free must be one of a list"},
        {"enum-value-lost", "a value of a list is no longer taken"},
        {"error-removed", "an error code is gone"},
        {"error-status-changed", "an error code has another HTTP status"},
        {"field-removed", "a field is no longer taken"},
        {"field-required", "a field that could be left out is required"},
        {"kind-changed", "a served method became a read, a mutation or public"},
        {"list-changed", "a served method began or ceased to decide its items one by one"},
        {"method-removed", "a served method is gone, planned again, or has another route"},
        {"nullable-lost", "null is no longer taken"},
        {"pattern-added", "text must match an expression"},
        {"pattern-changed", "text must match another expression"},
        {"resource-changed", "a served method is decided on another type of resource"},
        {"schema-lost", "a served method lost or gained the schema of its input"},
        {"type-narrowed", "a type of value is no longer taken"},
        {"unknown-keyword",
         "a schema keyword that the comparison cannot judge was added, removed or changed"},
    };
    return rules;
}

}  // namespace compute::surface
