// SentRequests: requests whose attributes the caller sends itself, as identity has changed them (Identity::
// identify_sent). Several requests, such as those of a batch, are kept at once.
//
// Owns the texts that identity makes and keeps its memory between calls: use one per loop, not from two threads.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/request.h"
#include "weir/result.h"

namespace weir::identity {

class SentRequests {
 public:
  // Verifying a signature takes as long as many checks.
  static constexpr std::size_t kMaxTokens = 64;

  SentRequests() = default;
  SentRequests(const SentRequests&) = delete;
  SentRequests& operator=(const SentRequests&) = delete;

  // Before the first request of a call.
  void clear();
  std::size_t size() const { return ranges_.size(); }
  // Of the i-th request: those that were sent, then the derived ones. Until the next change of this object. Names and
  // values that identity did not make are the caller's, other names the Identity's.
  std::span<const Attribute> attributes(std::size_t i) const;
  std::size_t derived(std::size_t i) const { return ranges_[i].derived; }
  // Whether one of the requests had a token that was verified.
  bool has_token() const { return !tokens_.empty(); }

 private:
  friend class Identity;

  struct Range {
    std::size_t first = 0;
    std::size_t size = 0;
    std::size_t derived = 0;
  };
  struct Token {
    std::string_view text;  // the caller's
    Result<std::vector<std::optional<std::string>>> claims;
  };

  // A copy that stays where it is until clear().
  std::string_view keep(std::string_view text);
  std::string_view keep_joined(std::string_view a, std::string_view b);

  std::array<std::byte, 4096> first_texts_{};
  std::pmr::monotonic_buffer_resource texts_{first_texts_.data(), first_texts_.size()};
  std::vector<Attribute> attributes_;
  std::vector<Range> ranges_;
  std::vector<Token> tokens_;        // each verified once
  std::vector<Attribute> derived_;   // of the request that is being read: what identity makes,
  std::vector<Attribute> previous_;  // and attributes that are hashed, with their hashes under the previous key
};

}  // namespace weir::identity
