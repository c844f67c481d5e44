#include "tests/support/test_certificates.h"

#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace compute::support {
namespace {

struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Bio = std::unique_ptr<BIO, Free>;

void require(bool is_ok, const char* what) {
    if (!is_ok) {
        throw std::runtime_error(std::string("test certificate: ") + what);
    }
}

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
    const Bio bio(BIO_new(BIO_s_mem()));
    require(PEM_write_bio_X509(bio.get(), certificate) == 1, "pem");
    return text_of(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
    const Bio bio(BIO_new(BIO_s_mem()));
    require(
        PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "pem"
    );
    return text_of(bio.get());
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, Free> extension(
        X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str())
    );
    require(
        extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "extension"
    );
}

std::string alternative_names(const std::vector<std::string>& hosts) {
    std::string out;
    for (const std::string& host : hosts) {
        unsigned char bytes[16];
        const bool is_address = inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
                                inet_pton(AF_INET6, host.c_str(), bytes) == 1;
        out += (out.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + host;
    }
    return out;
}

long next_serial() {
    static long serial = 1;
    return ++serial;
}

Certificate make(const std::string& name, EVP_PKEY* key, const CertificateOptions& options) {
    Certificate out(X509_new());
    X509_set_version(out.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(out.get()), next_serial());
    X509_gmtime_adj(
        X509_getm_notBefore(out.get()), std::chrono::seconds(options.valid_from).count()
    );
    X509_gmtime_adj(X509_getm_notAfter(out.get()), std::chrono::seconds(options.valid_to).count());
    X509_set_pubkey(out.get(), key);
    const auto* bytes = reinterpret_cast<const unsigned char*>(name.c_str());
    X509_NAME_add_entry_by_txt(
        X509_get_subject_name(out.get()), "CN", MBSTRING_ASC, bytes, -1, -1, 0
    );
    return out;
}

}  // namespace

struct TestAuthority::Impl {
    Key key;
    Certificate certificate;
};

TestAuthority::TestAuthority() : impl_(std::make_unique<Impl>()) {
    impl_->key.reset(EVP_EC_gen("P-256"));
    CertificateOptions options;
    options.valid_from = std::chrono::hours(-24 * 365);
    impl_->certificate =
        make("Test Authority " + std::to_string(next_serial()), impl_->key.get(), options);
    X509* const certificate = impl_->certificate.get();
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
    require(X509_sign(certificate, impl_->key.get(), EVP_sha256()) > 0, "sign");
    char path[] = "/tmp/better-compute-test-ca.XXXXXX";
    const int fd = mkstemp(path);
    const std::string pem = pem_of(certificate);
    require(
        fd >= 0 && ::write(fd, pem.data(), pem.size()) == static_cast<ssize_t>(pem.size()), "file"
    );
    ::close(fd);
    ca_file_ = path;
}

TestAuthority::~TestAuthority() {
    ::unlink(ca_file_.c_str());
}

TlsIdentity TestAuthority::issue(const CertificateOptions& options) const {
    const Key key(options.is_weak ? EVP_RSA_gen(512) : EVP_EC_gen("P-256"));
    require(key != nullptr, "key");
    const Certificate certificate = make("receiver", key.get(), options);
    X509* const issuer = options.is_self_signed ? certificate.get() : impl_->certificate.get();
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
    add_extension(
        certificate.get(), issuer, NID_subject_alt_name, alternative_names(options.hosts)
    );
    EVP_PKEY* const signer = options.is_self_signed ? key.get() : impl_->key.get();
    require(X509_sign(certificate.get(), signer, EVP_sha256()) > 0, "sign");
    return {pem_of(certificate.get()), pem_of(key.get())};
}

TlsIdentity TestAuthority::issue_for(std::vector<std::string> hosts) const {
    CertificateOptions options;
    options.hosts = std::move(hosts);
    return issue(options);
}

}  // namespace compute::support
