// PrefixIndex: which items are filed under an address prefix that contains an address. One look-up for each length of
// prefix that is in use, however many prefixes there are. Built once, then read by any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ip_address.h"

namespace weir::rules {

class PrefixIndex {
 public:
  struct Filing {
    base::IpPrefix prefix;
    std::uint32_t item = 0;
  };

  PrefixIndex() = default;
  explicit PrefixIndex(const std::vector<Filing>& filings);

  bool empty() const { return slots_.empty(); }

  // Calls look(item) for every item whose prefix contains the client's address or network, the longest prefixes first,
  // until one returns true. Whether one did.
  template <typename Look>
  bool any_of(const base::IpPrefix& client, const Look& look) const {
    const Words words(client.network());
    for (const Length& length : lengths_) {
      if (length.bits > client.bits() || length.v4 != client.is_v4()) continue;
      for (const std::uint32_t item : find(words.first(length.bits), length)) {
        if (look(item)) return true;
      }
    }
    return false;
  }

 private:
  struct Words {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    Words() = default;
    explicit Words(const base::IpAddress& address);
    Words first(int bits) const;
    bool operator==(const Words&) const = default;
  };
  struct Length {
    int bits = 0;  // of the 128
    bool v4 = false;
    bool operator==(const Length&) const = default;
  };
  struct Slot {
    Words network;
    std::uint32_t begin = 0;  // in items_
    std::uint32_t count = 0;  // 0: the slot is free
    Length length;
  };

  static std::size_t hash(const Words& network, const Length& length);
  std::span<const std::uint32_t> find(const Words& network, const Length& length) const;

  std::vector<Length> lengths_;  // longest first
  std::size_t mask_ = 0;
  std::vector<Slot> slots_;  // open addressing, at most half full
  std::vector<std::uint32_t> items_;
};

}  // namespace weir::rules
