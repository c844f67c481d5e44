// What a connection is made with: the url, checked, with our defaults filled in.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crypto/secret.h"
#include "store/database.h"

namespace compute::store::postgres {

struct Settings {
    std::vector<std::pair<std::string, crypto::Secret>> parameters;  // keyword, value
    std::string location;                                            // for people: no password
    bool is_prepared = true;
    bool is_read_only = false;
    bool is_synchronous = true;
    std::chrono::milliseconds busy_timeout{5000};
};

// INVALID_CONFIG when the url is malformed; the message never repeats it.
[[nodiscard]] Settings make_settings(const Options& options);

}  // namespace compute::store::postgres
