// How --help is laid out.
#pragma once

#include <string>

namespace compute::cli {

// The text of the parser with the descriptions of options broken at words to fit 80 columns. The
// command lines of the example stay whole, so that they can be copied.
[[nodiscard]] std::string wrap_help(const std::string& text);

}  // namespace compute::cli
