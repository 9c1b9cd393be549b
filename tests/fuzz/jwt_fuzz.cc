// Any bytes at all as a token, and any header and payload under a good signature: no crash, and no token accepted that
// no one signed. The first byte chooses which.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "identity/jwt.h"
#include "identity/jwt_keys.h"

namespace {

using namespace weir::identity;

const std::string kSecret = "0123456789abcdef0123456789abcdef";
const std::vector<std::string> kPaths = {"sub", "org.id", "a.b.c"};

const JwtVerifier& verifier() {
  static const JwtVerifier made = [] {
    const auto file = std::filesystem::temp_directory_path() / "weir_jwt_fuzz_secret";
    std::ofstream(file) << kSecret;
    JwtOptions options;
    options.secret_file = file;
    options.require_expiry = false;
    return JwtVerifier::load(options).value();
  }();
  return made;
}

std::string base64url(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  while (!text.empty() && text.back() == '=') text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::string sign(const std::string& message) {
  std::string out(32, '\0');
  unsigned length = 0;
  HMAC(EVP_sha256(), kSecret.data(), static_cast<int>(kSecret.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       reinterpret_cast<unsigned char*>(out.data()), &length);
  return message + "." + base64url(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const weir::TimePoint now = weir::from_micros(1'800'000'000'000'000);
  switch (data[0] % 4) {
    case 0:
      // The fuzzer cannot make a signature.
      if (verifier().verify(bytes, now, kPaths).ok()) std::abort();
      break;
    case 1:
      static_cast<void>(verifier().verify(sign(base64url(R"({"alg":"HS256"})") + "." + base64url(bytes)), now, kPaths));
      break;
    case 2:
      static_cast<void>(verifier().verify(sign(base64url(bytes) + "." + base64url("{}")), now, kPaths));
      break;
    default: {
      JwtKeys keys;
      static_cast<void>(keys.add_jwks(bytes, "fuzz"));
    }
  }
  return 0;
}
