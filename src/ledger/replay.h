// Replay: the balance of one account, computed from its entries as the tables have them. It shares no arithmetic with
// what wrote them, so that a mistake there is found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ledger/account.h"

namespace weir::ledger {

class Replay {
 public:
  struct Line {
    std::int64_t version;
    std::string kind;
    std::string from;
    std::string to;
    std::int64_t amount;
    std::string about;
  };
  // The name of an invariant, and what is wrong.
  using Report = std::function<void(std::string_view, const std::string&)>;

  // In order of their versions.
  void add(const Line& line, const Report& report);
  // After all entries.
  void compare(const Account& account, const Report& report) const;

  std::int64_t version() const { return version_; }

 private:
  std::int64_t sum(std::string_view kind) const;
  void check_limits(const Line& line, const Report& report) const;

  std::map<std::string, std::int64_t, std::less<>> buckets_;  // `issue` is below zero by what was issued
  std::map<std::string, std::int64_t, std::less<>> kinds_;    // units moved by entries of each kind
  std::int64_t version_ = 0;
};

}  // namespace weir::ledger
