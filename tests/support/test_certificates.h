// Certificates made for a test: an authority of its own and what it signs, good or faulty.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace compute::support {

// A certificate chain and its key, as PEM.
struct TlsIdentity {
    std::string chain;
    std::string key;
};

struct TlsServerOptions {
    int max_version = 0;      // 0: any; else 0x0301 (TLS 1.0), 0x0302, 0x0303, 0x0304
    std::string cipher_list;  // TLS 1.2 and below; empty: the default
    bool with_tickets = true;
};

struct CertificateOptions {
    std::vector<std::string> hosts = {
        "receiver.test"};                // subject alternative names; addresses as they are
    std::chrono::hours valid_from{-24};  // from now
    std::chrono::hours valid_to{24};
    bool is_self_signed = false;
    bool is_weak = false;  // RSA with 512 bits
};

// Not thread-safe. The authority's certificate lies in a file until the object is destroyed.
class TestAuthority {
public:
    TestAuthority();
    ~TestAuthority();
    TestAuthority(const TestAuthority&) = delete;
    TestAuthority& operator=(const TestAuthority&) = delete;

    [[nodiscard]] const std::string& ca_file() const noexcept { return ca_file_; }
    [[nodiscard]] TlsIdentity issue(const CertificateOptions& options = {}) const;
    [[nodiscard]] TlsIdentity issue_for(std::vector<std::string> hosts) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::string ca_file_;
};

}  // namespace compute::support
