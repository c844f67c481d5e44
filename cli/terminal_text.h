// Text as a terminal shows it. The other half, printable(), stands in console.h: every command uses
// it.
#pragma once

#include <cstddef>
#include <string_view>

namespace compute::cli {

// Columns on the screen: two for wide characters, none for combining ones and for colour codes.
[[nodiscard]] std::size_t width_of(std::string_view text);

}  // namespace compute::cli
