// SentNames: what identity does with an attribute that a caller sends itself, by the attribute's name.
//
// Names are compared without case and with '-' as '_', as headers are in CGI: x_api_key is X-Api-Key. Names that
// identity makes (`ip_subnet`, a claim's attribute) are compared as they are, because rules see only those.
//
// Filled once, then read by any number of threads.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/request.h"

namespace weir::identity {

enum class SentRole : std::uint8_t {
  none,     // passed on as it is
  ip,       // the client's address
  api_key,  // hashed, and perhaps revoked
  token,    // verified, if there are keys for that, and hashed
  hashed,   // hashed
  made,     // made by identity: what the caller sent is replaced or dropped
};

class SentNames {
 public:
  // False: there is such a name already. Precondition: the name is at most kMaxAttributeName long.
  bool add(std::string_view name, SentRole role);
  SentRole find(std::string_view name) const {
    return name.size() <= kMaxAttributeName && sizes_[name.size()] ? search(name) : SentRole::none;
  }

 private:
  struct Entry {
    std::string name;  // of `made` as it is, else folded
    SentRole role;
  };

  SentRole search(std::string_view name) const;

  std::vector<Entry> entries_;
  std::bitset<kMaxAttributeName + 1> sizes_;  // that any entry has
};

}  // namespace weir::identity
