// RulesStamp: the name that decisions by one load of the rules are attributed to. A server makes one for each load,
// before the rules decide anything, so that logs, journal, metrics and the list of versions say the same.
//
// The number may come later than the first decision: a file's version is numbered by the database that records it. The
// hash is there from the start. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::rules {

struct RulesStamp {
  RulesStamp(std::uint64_t text_hash, std::uint64_t known_number) : hash(text_hash), number(known_number) {}

  const std::uint64_t hash;           // of the text
  std::atomic<std::uint64_t> number;  // 0: not known yet
};

}  // namespace weir::rules
