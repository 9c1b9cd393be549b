#include "server/webhook.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <utility>

namespace weir::server {

std::string Webhook::signature(const std::string& secret, std::string_view timestamp, std::string_view body) {
  const std::string text = std::string(timestamp) + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "sha256=";
  for (unsigned int i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4U];
    out += kDigits[bytes[i] & 15U];
  }
  return out;
}

Result<std::unique_ptr<Webhook>> Webhook::make(const std::string& url, std::string secret, Duration timeout) {
  Result<std::unique_ptr<HttpPost>> to = HttpPost::make(url, timeout);
  if (!to.ok()) return to.failure();
  return std::unique_ptr<Webhook>(new Webhook(std::move(to).value(), std::move(secret)));
}

Status Webhook::post(std::string_view body, TimePoint now) const {
  const std::string timestamp = std::to_string(micros(now) / 1'000'000);
  std::string fields = "X-Weir-Timestamp: " + timestamp + "\r\n";
  if (!secret_.empty()) fields += "X-Weir-Signature: " + signature(secret_, timestamp, body) + "\r\n";
  const Result<int> status = to_->post(body, "application/json", fields);
  if (!status.ok()) return status.failure();
  if (status.value() >= 200 && status.value() < 300) return success();
  return Failure{Code::failed_precondition, to_->where() + ": answered " + std::to_string(status.value())};
}

}  // namespace weir::server
