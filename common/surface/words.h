// The words of the surface document.
#pragma once

#include <string_view>

#include "method/module.h"

namespace compute::surface {

[[nodiscard]] std::string_view kind_word(method::Kind kind);  // read | mutation | public
[[nodiscard]] std::string_view status_word(method::MethodStatus status);  // served | planned

}  // namespace compute::surface
