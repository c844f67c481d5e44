// Looking at a certificate without using it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace compute::crypto {

// Until when the first certificate of a PEM file is valid, in seconds since 1970; nullopt when the
// file holds none or cannot be read.
[[nodiscard]] std::optional<std::int64_t> find_certificate_expiry(const std::string& path);

}  // namespace compute::crypto
