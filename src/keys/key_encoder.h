// KeyEncoder: the only place that turns a rule and a subject into a bucket's key.
//
// Format, hashed with SipHash-1-3-128 under the process's secret:
//
//   "w1" algorithm-number  rule-id  { value }…
//
// in 64-bit little-endian words. A rule whose `per` has alternatives adds after the values of each entry the name of
// the attribute that they are of and how many they are:
//
//   "w1" algorithm-number  rule-id  { { value }…  name  count }…
//
// The subject that newcomers beyond Rule::max_subjects share has the word kSharedSubject instead of values.
//
// Every text carries its length (SipHash::add_framed), so no choice of values can imitate another subject's, and only
// the hash leaves this file. The rule's part is hashed once, when rules are loaded: seed(). A rule whose algorithm
// changes gets new buckets, because the old words would mean something else.
//
// Immutable, so thread-safe.
#pragma once

#include <string_view>

#include "keys/siphash.h"
#include "weir/allowance.h"
#include "weir/options.h"
#include "weir/store.h"

namespace weir::keys {

class KeyEncoder {
 public:
  explicit KeyEncoder(const HashKey& key) : key_(key) {}

  // A hash that has seen the rule: copy it for each request and add the subject's values.
  SipHash seed(std::string_view rule_id, Algorithm algorithm) const;
  // The same for a concurrency rule, whose number follows those of the algorithms.
  SipHash lease_seed(std::string_view rule_id) const;
  // The same for what decides the slot in a cluster: only the values count, not the rule.
  SipHash tag_seed() const;

  // The same for the value of an attribute by itself, for logs.
  SipHash attribute_seed(std::string_view name) const;

  static void add_value(SipHash& hash, std::string_view value) { hash.add_framed(value); }

  // What follows the values of an entry with alternatives.
  static void add_choice(SipHash& hash, std::string_view name, std::size_t values) {
    hash.add_framed(name);
    hash.add_word(values);
  }

  // The subject of all newcomers of a rule that has too many subjects; no values make this one.
  static void add_shared(SipHash& hash) { hash.add_word(kSharedSubject); }

  // Shows whether two processes use the same key, without revealing it.
  BucketKey fingerprint() const;

 private:
  // The word is framed like the end of a text of 255 bytes or more, and no text precedes it.
  static constexpr std::uint64_t kSharedSubject = 0xff00'6465'7261'6873;  // "shared"
  SipHash numbered_seed(std::string_view rule_id, std::uint64_t number) const;

  const HashKey key_;
};

// From the operating system's random source.
HashKey random_hash_key();

}  // namespace weir::keys
