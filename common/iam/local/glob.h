// Anchored globs: `*` stands for any run of characters, `?` for one, everything else for itself.
// There is no escape.
#pragma once

#include <string>
#include <string_view>

namespace compute::iam::local {

enum class Fold { Exact, IgnoreCase };  // IgnoreCase folds A-Z only

// The compiled form is the pattern with its two special characters replaced by bytes that UTF-8
// never uses; literal text can therefore be appended to it as it is, and a `*` in that text stands
// for itself.
[[nodiscard]] std::string compile_glob(std::string_view pattern);

// Whether `compiled` covers the whole of `text`. Linear in `text` for a given pattern: only the
// last `*` is ever tried again.
[[nodiscard]] bool glob_matches(
    std::string_view compiled, std::string_view text, Fold fold = Fold::Exact
) noexcept;

// Equality under the same folding.
[[nodiscard]] bool text_equals(std::string_view a, std::string_view b, Fold fold) noexcept;

}  // namespace compute::iam::local
