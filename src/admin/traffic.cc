#include "admin/traffic.h"

#include <algorithm>
#include <utility>

namespace weir::admin {
namespace {

// Of the journal, newest first, as far back as names are looked for.
constexpr std::size_t kNamedEntries = 2'000;

// "tenant=acme,ip=192.0.2.7": what the rule counts by is not known here, so all that is kept, up to a few.
std::string text_of_entry(const observe::JournalEntry& entry) {
  std::string text;
  for (const observe::JournalAttribute& each : entry.attributes) {
    if (!each.text || each.name == "action" || each.name == "method" || each.name == "path") continue;
    if (!text.empty()) text += ',';
    text += each.name + "=" + *each.text;
  }
  return text;
}

}  // namespace

void run_aside(Call& call, const Traffic& traffic, std::function<Answer()> make) {
  const LaterAnswer later = call.defer();
  if (!traffic.side.post([later, make = std::move(make)] { later.send(make()); })) {
    later.send(problem(503, "busy", "too many questions to the admin API are waiting; try again later"));
  }
}

SubjectNames::SubjectNames(const observe::Journal* journal, std::vector<observe::SubjectKey> wanted) {
  if (journal == nullptr || !journal->plain() || wanted.empty()) return;
  for (const observe::JournalEntry& entry : journal->search(journal->filter({}), kNamedEntries)) {
    for (const observe::RecordRule& rule : entry.rules) {
      const observe::SubjectKey key{rule.subject, rule.ordinal};
      const auto found = std::find(wanted.begin(), wanted.end(), key);
      if (found == wanted.end()) continue;
      names_.emplace_back(key, text_of_entry(entry));
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
