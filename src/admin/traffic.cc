#include "admin/traffic.h"

#include <algorithm>
#include <map>
#include <utility>

#include "rules/compile/per_entry.h"

namespace weir::admin {
namespace {

// Of the journal, newest first, as far back as names are looked for.
constexpr std::size_t kNamedEntries = 2'000;

const observe::JournalAttribute* attribute_of(const observe::JournalEntry& entry, std::string_view name) {
  const auto found = std::find_if(entry.attributes.begin(), entry.attributes.end(),
                                  [&](const observe::JournalAttribute& each) { return each.name == name; });
  return found == entry.attributes.end() || !found->text ? nullptr : &*found;
}

// What a request was counted by; empty if that is not known as text.
std::string text_of_subject(const observe::JournalEntry& entry, const Rule& rule) {
  std::string text;
  for (const std::string& each : rule.per) {
    const observe::JournalAttribute* counted = nullptr;
    rules::for_each_name(each, [&](std::string_view name) {
      if (counted == nullptr) counted = attribute_of(entry, name);
    });
    if (counted == nullptr) return {};
    if (!text.empty()) text += ',';
    text += counted->name + "=" + *counted->text;
  }
  return text;
}

}  // namespace

void run_aside(Call& call, const Traffic& traffic, std::function<Answer()> make) {
  const LaterAnswer later = call.defer();
  if (!traffic.side.post([later, make = std::move(make)] { later.send(make()); })) {
    later.send(problem(503, "busy", "too many requests to the admin API are waiting; try again later"));
  }
}

SubjectNames::SubjectNames(const Traffic& traffic, std::vector<observe::SubjectKey> wanted) {
  const std::shared_ptr<const rules::RuleSet> set = traffic.rules.current();
  std::map<std::uint32_t, const Rule*> loaded;  // by ordinal, those that are wanted and loaded
  for (const rules::CompiledRule& rule : set->rules()) {
    const auto is_wanted = [&](const observe::SubjectKey& key) { return key.ordinal == rule.name.ordinal; };
    if (std::any_of(wanted.begin(), wanted.end(), is_wanted)) loaded[rule.name.ordinal] = &rule.source;
  }
  std::erase_if(wanted, [&](const observe::SubjectKey& key) {
    const auto rule = loaded.find(key.ordinal);
    if (rule == loaded.end()) return true;
    if (rule->second->per.empty()) names_.emplace_back(key, "all");
    return rule->second->per.empty();
  });
  const observe::Journal* const journal = traffic.journal;
  if (journal == nullptr || !journal->plain() || wanted.empty()) return;
  for (const observe::JournalEntry& entry : journal->search(journal->filter({}), kNamedEntries)) {
    for (const observe::RecordRule& rule : entry.rules) {
      const observe::SubjectKey key{rule.subject, rule.ordinal};
      const auto found = std::find(wanted.begin(), wanted.end(), key);
      if (found == wanted.end()) continue;
      names_.emplace_back(key, text_of_subject(entry, *loaded.at(rule.ordinal)));
      wanted.erase(found);
    }
    if (wanted.empty()) return;
  }
}

std::optional<std::string> SubjectNames::find(const observe::SubjectKey& key) const {
  const auto found = std::find_if(names_.begin(), names_.end(), [&](const auto& each) { return each.first == key; });
  if (found == names_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string subject_of(const BucketKey& key, bool shared) {
  if (shared) return "shared";
  const SubjectDigits digits = subject_digits(key);
  return {digits.data(), digits.size()};
}

}  // namespace weir::admin
