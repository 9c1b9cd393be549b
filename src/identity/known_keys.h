// API keys that are known: each is bound to a tenant, perhaps a plan, and attributes, so that a gateway sends only the
// key. Interfaces; where keys are kept is not identity's business.
//
// A KnownKeys is one state of all of them, immutable; a KeyDirectory has the current one. Both are thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/time.h"
#include "weir/use_mark.h"

namespace weir::identity {

// Refers to the KnownKeys that it came from.
struct KnownKey {
  std::string_view tenant;  // empty: none
  std::string_view plan;    // empty: none
  std::span<const std::pair<std::string, std::string>> attributes;
  bool revoked = false;
  std::optional<TimePoint> expires;
  UseMark* use = nullptr;

  bool is_active(TimePoint now) const { return !revoked && (!expires || now < *expires); }
};

class KnownKeys {
 public:
  virtual ~KnownKeys() = default;
  virtual std::optional<KnownKey> find(std::string_view key) const = 0;
};

class KeyDirectory {
 public:
  virtual ~KeyDirectory() = default;
  // Null: there are no keys.
  virtual std::shared_ptr<const KnownKeys> current() const = 0;
};

// Calls put(name, value) for each attribute that the key is bound to.
template <typename Put>
void for_each_bound(const KnownKey& key, const Put& put) {
  if (!key.tenant.empty()) put(std::string_view("tenant"), key.tenant);
  if (!key.plan.empty()) put(std::string_view("plan"), key.plan);
  for (const auto& [name, value] : key.attributes) put(std::string_view(name), std::string_view(value));
}

// The key in a field: what follows the scheme of an Authorization field.
inline std::string_view bare_key(std::string_view value) {
  const std::size_t space = value.rfind(' ');
  return space == std::string_view::npos ? value : value.substr(space + 1);
}

}  // namespace weir::identity
