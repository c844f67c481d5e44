#include "crypto/certificate.h"

#include <ctime>
#include <memory>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace compute::crypto {

std::optional<std::int64_t> find_certificate_expiry(const std::string& path) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> file(
        BIO_new_file(path.c_str(), "r"), &BIO_free
    );
    if (!file) {
        return std::nullopt;
    }
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr), &X509_free
    );
    std::tm parts{};
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) {
        return std::nullopt;
    }
    return timegm(&parts);
}

}  // namespace compute::crypto
