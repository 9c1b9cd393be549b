// One request put to an Identity in tests, and what came of it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "identity/identity.h"

namespace weir::identity {

inline const std::string kTestSecret = "0123456789abcdef0123456789abcdef";
inline const TimePoint kTestNow = from_micros(1'800'000'000'000'000);

inline std::shared_ptr<const Identity> make_identity(const IdentityOptions& options) {
  auto identity = Identity::create(options);
  EXPECT_TRUE(identity.ok()) << (identity.ok() ? "" : identity.failure().message);
  return identity.ok() ? identity.value() : nullptr;
}

struct Asked {
  CallerAttributes caller = {};
  std::optional<Refusal> refusal = {};

  // "-" for an attribute that is not there.
  std::string operator[](const char* name) const { return std::string(caller.find(name).value_or("-")); }
  std::string cause() const { return refusal ? refusal->cause : ""; }
};

inline Asked ask(const std::shared_ptr<const Identity>& identity, const std::vector<HeaderField>& headers,
                 const char* peer = "203.0.113.9", std::string_view target = "/v1/items/7",
                 std::string_view method = "GET") {
  Asked asked;
  const Inbound inbound{method, target, headers, peer == nullptr ? std::nullopt : base::parse_ip(peer)};
  asked.refusal = identity->identify(inbound, kTestNow, asked.caller);
  return asked;
}

}  // namespace weir::identity
