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
  Proposal proposal;
  bool exact = true;
  for (const std::string& word : words) {
    if (!proposal.start.empty()) proposal.start += '.';
    for (const char c : word) {
      const bool kept = c != '.' && is_rule_id(std::string_view(&c, 1));
      exact = exact && kept;
      proposal.start += kept ? c : '_';
    }
  }
  if (exact && is_rule_id(proposal.start)) proposal.plain = proposal.start;
  proposal.start.resize(std::min(proposal.start.size(), kMaxRuleId - kHashDigits - 1));
  proposal.identity = std::move(identity);
  proposal.name = std::move(name);
  proposals_.push_back(std::move(proposal));
}

std::vector<std::string> RuleIds::assign() const {
  std::map<std::string, int> names;
  std::map<std::string, int> plains;
  for (const Proposal& proposal : proposals_) {
    ++names[proposal.name];
    ++plains[proposal.plain];
  }
  std::vector<std::string> ids;
  std::set<std::string> taken;
  for (const Proposal& proposal : proposals_) {
    std::string id;
    if (is_rule_id(proposal.name) && names[proposal.name] == 1 && !plains.contains(proposal.name)) {
      id = proposal.name;
    } else if (!proposal.plain.empty() && plains[proposal.plain] == 1) {
      id = proposal.plain;
    }
    for (std::uint64_t seed = 0; id.empty() || !taken.insert(id).second; ++seed) {
      id = proposal.start + "-" + hash_digits(proposal.identity, seed);
    }
    ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace weir::rules
