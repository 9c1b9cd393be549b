// TestCertificate: a self-signed certificate and its key, made on the spot in two PEM files, for the tests of TLS.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace weir::transport {

struct TestCertificate {
  std::filesystem::path certificate;
  std::filesystem::path key;

  TestCertificate(const std::filesystem::path& folder, const std::string& name)
      : certificate(folder / (name + ".crt")), key(folder / (name + ".key")) {
    constexpr long kOneDay = 86'400;
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -kOneDay);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), kOneDay);
    X509_set_pubkey(made.get(), pair.get());
    X509_NAME* subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(made.get(), subject);
    X509_sign(made.get(), pair.get(), EVP_sha256());

    std::FILE* file = std::fopen(certificate.c_str(), "w");
    PEM_write_X509(file, made.get());
    std::fclose(file);
    file = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }
  ~TestCertificate() {
    std::filesystem::remove(certificate);
    std::filesystem::remove(key);
  }
};

}  // namespace weir::transport
