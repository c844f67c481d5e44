// The operating system's generator.
#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstring>

#include <pthread.h>

#include "crypto/crypto.h"
#include "crypto/openssl.h"

namespace compute::crypto {
namespace {

// Bigger than what an id, a key or a nonce takes; what asks for more is asked for directly.
constexpr std::size_t kLargestSmall = 64;
constexpr std::size_t kDrawnAtOnce = 1024;

void draw(unsigned char* to, std::size_t size) {
    while (size > 0) {
        const auto piece = std::min<std::size_t>(size, INT_MAX);
        require(RAND_bytes(to, static_cast<int>(piece)) == 1, "randomness");
        to += piece;
        size -= piece;
    }
}

std::atomic<unsigned> forks{0};

// A child of fork() has a copy of its parent's bytes and must not hand them out again.
[[maybe_unused]] const int kIsWatching = pthread_atfork(nullptr, nullptr, [] { ++forks; });

// Bytes drawn ahead: a call of RAND_bytes costs as much for 10 bytes as for hundreds, and every
// request makes several ids. Each byte is given out once and wiped.
class Store {
public:
    Store() = default;
    ~Store() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    void take(unsigned char* to, std::size_t size) {
        if (left_ < size || forks_ != forks) {
            draw(bytes_.data(), bytes_.size());
            left_ = bytes_.size();
            forks_ = forks;
        }
        left_ -= size;
        std::memcpy(to, bytes_.data() + left_, size);
        OPENSSL_cleanse(bytes_.data() + left_, size);
    }

private:
    std::array<unsigned char, kDrawnAtOnce> bytes_{};
    std::size_t left_ = 0;
    unsigned forks_ = 0;
};

class SystemRng final : public Rng {
public:
    void fill(void* out, std::size_t size) override {
        auto* bytes = static_cast<unsigned char*>(out);
        if (size > kLargestSmall) {
            draw(bytes, size);
            return;
        }
        thread_local Store store;
        store.take(bytes, size);
    }
};

}  // namespace

Rng& system_rng() {
    static SystemRng rng;
    return rng;
}

}  // namespace compute::crypto
