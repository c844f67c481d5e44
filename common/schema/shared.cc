// Shapes that many methods share.
#include "schema/manifest.h"

namespace compute::schema {

Shape tenant_id() {
    return string({.pattern = "^[A-Za-z0-9._:-]{1,128}$", .min_length = 1, .max_length = 128});
}

Shape idempotency_key() {
    return tenant_id();
}

Shape id_of(std::string_view prefix) {
    return string(
        {.pattern = "^" + std::string(prefix) + "[0-9a-hjkmnp-tv-z]{26,52}$",
         .min_length = prefix.size() + 26,
         .max_length = prefix.size() + 52}
    );
}

Shape name() {
    return string({.pattern = "^[a-z][a-z0-9-]{0,62}$", .min_length = 1, .max_length = 63});
}

Shape labels() {
    return map_of(
        string({.pattern = "", .min_length = 0, .max_length = 128}),
        {.max_entries = 32, .key = {.pattern = "", .min_length = 1, .max_length = 63}}
    );
}

Shape wait() {
    return object(
        {{.name = "timeoutMs",
          .shape = integer(),
          .is_required = true,
          .description = "how long to wait; at most 30,000 count"}}
    );
}

}  // namespace compute::schema
