#include "crypto/secret.h"

#include <utility>

#include <openssl/crypto.h>

namespace compute::crypto {
namespace {

// Up to the capacity: a shrunk or moved-from string keeps old bytes behind its end.
void cleanse(std::string& text) noexcept {
    text.resize(text.capacity());
    OPENSSL_cleanse(text.data(), text.size());
    text.clear();
}

}  // namespace

Secret::Secret(std::string value) : value_(std::move(value)) {
    // A short string was copied by the move (it lies inside the object): leave nothing behind.
    cleanse(value);
}

Secret::Secret(const Secret& other) = default;

Secret::Secret(Secret&& other) noexcept : value_(std::move(other.value_)) {
    other.wipe();
}

Secret& Secret::operator=(const Secret& other) {
    if (this != &other) {
        Secret copy(other);
        *this = std::move(copy);
    }
    return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
    if (this != &other) {
        wipe();
        value_ = std::move(other.value_);
        other.wipe();
    }
    return *this;
}

Secret::~Secret() {
    wipe();
}

void Secret::wipe() noexcept {
    cleanse(value_);
}

bool equal_constant_time(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace compute::crypto
