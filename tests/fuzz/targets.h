// Readers of what strangers send, each as a function over bytes. libFuzzer drives them for long
// (`./dev fuzz`), targets_test.cc for a moment in every test run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace compute::fuzz {

struct Target {
    std::string_view name;
    // Ends the process (abort, or what a sanitizer does) when the reader breaks a promise.
    void (*run)(std::string_view bytes);
    std::vector<std::string> seeds;  // to start from
};

[[nodiscard]] const std::vector<Target>& targets();

}  // namespace compute::fuzz
