#include "rules/read/rule_ids.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "rules/compile/rule_check.h"

namespace weir::rules {
namespace {

constexpr std::size_t kHashDigits = 12;

// FNV-1a: nothing depends on its quality but how alike two ids look.
std::string hash_digits(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 14'695'981'039'346'656'037U + seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  std::string digits(kHashDigits, '0');
  base::write_hex(digits.data(), hash, kHashDigits);
  return digits;
}

}  // namespace

void RuleIds::add(const std::vector<std::string>& words, std::string identity, std::string name) {
  Wish wish;
  bool exact = true;
  for (const std::string& word : words) {
    if (!wish.start.empty()) wish.start += '.';
    for (const char c : word) {
      const bool kept = c != '.' && is_rule_id(std::string_view(&c, 1));
      exact = exact && kept;
      wish.start += kept ? c : '_';
    }
  }
  if (exact && is_rule_id(wish.start)) wish.plain = wish.start;
  wish.start.resize(std::min(wish.start.size(), kMaxRuleId - kHashDigits - 1));
  wish.identity = std::move(identity);
  wish.name = std::move(name);
  wishes_.push_back(std::move(wish));
}

std::vector<std::string> RuleIds::assign() const {
  std::map<std::string, int> names;
  std::map<std::string, int> plains;
  for (const Wish& wish : wishes_) {
    ++names[wish.name];
    ++plains[wish.plain];
  }
  std::vector<std::string> ids;
  std::set<std::string> taken;
  for (const Wish& wish : wishes_) {
    std::string id;
    if (is_rule_id(wish.name) && names[wish.name] == 1 && !plains.contains(wish.name)) {
      id = wish.name;
    } else if (!wish.plain.empty() && plains[wish.plain] == 1) {
      id = wish.plain;
    }
    for (std::uint64_t seed = 0; id.empty() || !taken.insert(id).second; ++seed) {
      id = wish.start + "-" + hash_digits(wish.identity, seed);
    }
    ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace weir::rules
