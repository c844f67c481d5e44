// The limit that delivery is measured against: one libcurl multi loop, signed POSTs, kept-alive connections, no database.
//
//   bench_raw_curl URL COUNT IN_FLIGHT [CA_FILE]   prints one JSON line {"count","seconds","perSecond","failed","cpuMicrosecondsEach"}
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "crypto/crypto.h"

namespace {

constexpr int kBodyBytes = 600;

struct Slot {
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    std::array<char, 160> signature{};
    std::array<char, 64> timestamp{};
    std::array<char, 64> delivery{};
};

std::size_t discard(char* /*data*/, std::size_t size, std::size_t count, void* /*user*/) { return size * count; }

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fputs("usage: bench_raw_curl URL COUNT IN_FLIGHT [CA_FILE]\n", stderr);
        return 2;
    }
    const std::string url = argv[1];
    const long count = std::strtol(argv[2], nullptr, 10);
    const long in_flight = std::strtol(argv[3], nullptr, 10);
    const std::string body(kBodyBytes, 'x');
    compute::crypto::HmacKey key("whsec_" + std::string(43, 'A'));
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM* multi = curl_multi_init();
    std::vector<Slot> slots(static_cast<std::size_t>(in_flight));
    long started = 0;
    long finished = 0;
    long failed = 0;

    const auto send = [&](Slot& slot) {
        const std::string now = std::to_string(std::time(nullptr));
        const std::string signature = compute::crypto::to_hex(key.sign(now + ".", body));
        std::snprintf(slot.timestamp.data(), slot.timestamp.size(), "X-Better-Compute-Timestamp: %s", now.c_str());
        std::snprintf(slot.signature.data(), slot.signature.size(), "X-Better-Compute-Signature: v1=%s", signature.c_str());
        std::snprintf(slot.delivery.data(), slot.delivery.size(), "X-Better-Compute-Delivery: dlv_%026ld", started);
        curl_slist_free_all(slot.headers);
        slot.headers = curl_slist_append(nullptr, "Content-Type: application/json");
        for (const char* header : std::initializer_list<const char*>{
                 slot.timestamp.data(), slot.signature.data(), slot.delivery.data(), "Expect:"}) {
            slot.headers = curl_slist_append(slot.headers, header);
        }
        curl_easy_setopt(slot.easy, CURLOPT_HTTPHEADER, slot.headers);
        curl_multi_add_handle(multi, slot.easy);
        ++started;
    };
    for (Slot& slot : slots) {
        slot.easy = curl_easy_init();
        curl_easy_setopt(slot.easy, CURLOPT_URL, url.c_str());
        curl_easy_setopt(slot.easy, CURLOPT_POSTFIELDS, body.data());
        curl_easy_setopt(slot.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
        curl_easy_setopt(slot.easy, CURLOPT_WRITEFUNCTION, discard);
        curl_easy_setopt(slot.easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(slot.easy, CURLOPT_PRIVATE, &slot);
        curl_easy_setopt(slot.easy, CURLOPT_NOSIGNAL, 1L);
        if (argc > 4) {
            curl_easy_setopt(slot.easy, CURLOPT_CAINFO, argv[4]);
            curl_easy_setopt(slot.easy, CURLOPT_CAPATH, nullptr);
        }
    }
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = cpu_seconds();
    for (Slot& slot : slots) {
        if (started < count) {
            send(slot);
        }
    }
    while (finished < count) {
        int running = 0;
        curl_multi_perform(multi, &running);
        int left = 0;
        while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
            Slot* slot = nullptr;
            CURL* easy = message->easy_handle;
            const CURLcode result = message->data.result;
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
            curl_multi_remove_handle(multi, easy);
            ++finished;
            failed += result == CURLE_OK ? 0 : 1;
            if (started < count) {
                send(*slot);
            }
        }
        if (finished < count) {
            curl_multi_poll(multi, nullptr, 0, 100, nullptr);
        }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu = cpu_seconds() - cpu_begin;
    std::printf(
        "{\"count\":%ld,\"seconds\":%.3f,\"perSecond\":%.0f,\"failed\":%ld,\"cpuMicrosecondsEach\":%.1f}\n",
        count,
        seconds,
        static_cast<double>(count) / seconds,
        failed,
        cpu * 1e6 / static_cast<double>(count)
    );
    for (Slot& slot : slots) {
        curl_easy_cleanup(slot.easy);
        curl_slist_free_all(slot.headers);
    }
    curl_multi_cleanup(multi);
    return failed == 0 ? 0 : 1;
}
