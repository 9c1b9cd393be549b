#include "observe/journal_record.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weir::observe {
namespace {

struct RecordHead {
  std::uint8_t kind = 1;  // never 0, which marks what is no record
  std::uint8_t reason = 0;
  bool allowed = true;
  bool degraded = false;
  std::uint8_t rules = 0;
  std::uint8_t attributes = 0;
  std::int8_t deciding = -1;
  std::uint32_t count = 1;
  std::int64_t at_us = 0;
  std::int64_t cost = 0;
  std::int64_t retry_after_us = 0;
  std::uint64_t rules_version = 0;
  std::uint64_t rules_hash = 0;
  std::string_view source;
};
static_assert(std::is_trivially_copyable_v<RecordHead> && std::is_trivially_copyable_v<RecordRule>);

template <typename T>
void append_bytes(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T take_bytes(std::string_view& from) {
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

std::string take_text(std::string_view& from, std::size_t size) {
  std::string text(from.substr(0, size));
  from.remove_prefix(size);
  return text;
}

RecordRule record_of(const RuleOutcome& outcome) {
  return {.rule = outcome.rule,
          .subject = outcome.subject,
          .ordinal = outcome.ordinal,
          .mode = outcome.mode,
          .allowed = outcome.allowed,
          .unlimited = outcome.unlimited,
          .store_failed = outcome.store_failed,
          .shared = outcome.shared,
          .limit = outcome.limit,
          .remaining = outcome.remaining,
          .cost = outcome.cost,
          .retry_after = outcome.retry_after,
          .reset_after = outcome.reset_after};
}

// Returns the index of the decisive rule among those that were appended.
std::int8_t append_rules(std::string& out, const Decision& decision) {
  std::int8_t deciding = -1;
  const std::size_t kept = std::min(decision.rules.size(), kMaxRecordRules);
  for (std::size_t i = 0; i < kept; ++i) {
    const bool last_place = i + 1 == kMaxRecordRules && decision.deciding >= static_cast<std::int32_t>(kept);
    const RuleOutcome& outcome = last_place ? *decision.decisive() : decision.rules[i];
    if (&outcome == decision.decisive()) deciding = static_cast<std::int8_t>(i);
    append_bytes(out, record_of(outcome));
  }
  return deciding;
}

bool keeps_text(std::string_view name, const RecordOptions& options) {
  if (!options.plain && name != "action" && name != "method") return false;
  return !options.secrets.contains(name);
}

void append_attribute(std::string& out, const Attribute& attribute, const RecordOptions& options,
                      const keys::KeyEncoder& encoder) {
  const bool keeps = keeps_text(attribute.name, options);
  const std::string_view text = keeps ? cut_value(attribute.value) : std::string_view();
  append_bytes(out, static_cast<std::uint16_t>(attribute.name.size()));
  // One more than its length, so that an empty text is told from none.
  append_bytes(out, static_cast<std::uint16_t>(keeps ? text.size() + 1 : 0));
  append_bytes(out, attribute_hash(attribute.name, attribute.value, encoder));
  out.append(attribute.name).append(text);
}

}  // namespace

bool JournalEntry::shadow_denied() const {
  return std::any_of(rules.begin(), rules.end(),
                     [](const RecordRule& each) { return each.mode == Mode::shadow && !each.allowed; });
}

const JournalAttribute* JournalEntry::find(std::string_view name) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const JournalAttribute& each) { return each.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

void append_record(std::string& out, const Decision& decision, const RequestContext& context,
                   const RecordOptions& options, const keys::KeyEncoder& encoder) {
  const std::size_t start = out.size();
  RecordHead head;
  out.resize(start + sizeof head);
  head.reason = static_cast<std::uint8_t>(decision.reason);
  head.allowed = decision.allowed;
  head.degraded = decision.degraded;
  head.rules = static_cast<std::uint8_t>(std::min(decision.rules.size(), kMaxRecordRules));
  head.deciding = append_rules(out, decision);
  head.at_us = micros(decision.at);
  head.cost = decision.cost;
  head.retry_after_us = decision.retry_after.count();
  head.rules_version = context.rules_version;
  head.rules_hash = context.rules_hash;
  head.source = decision.source;
  for (const Attribute& each : context.attributes) {
    if (head.attributes == kMaxRecordAttributes) break;
    if (each.name.size() > kMaxAttributeName) continue;
    append_attribute(out, each, options, encoder);
    ++head.attributes;
  }
  std::memcpy(&out[start], &head, sizeof head);
}

std::size_t record_count_offset() { return offsetof(RecordHead, count); }

RecordGlance glance_at(std::string_view record) {
  const auto head = take_bytes<RecordHead>(record);
  return {.at = from_micros(head.at_us), .allowed = head.allowed, .reason = static_cast<Reason>(head.reason)};
}

JournalEntry read_record(std::string_view record) {
  const auto head = take_bytes<RecordHead>(record);
  JournalEntry entry;
  entry.at = from_micros(head.at_us);
  entry.allowed = head.allowed;
  entry.degraded = head.degraded;
  entry.reason = static_cast<Reason>(head.reason);
  entry.deciding = head.deciding;
  entry.count = head.count;
  entry.cost = head.cost;
  entry.retry_after = Duration(head.retry_after_us);
  entry.source = head.source;
  entry.rules_version = head.rules_version;
  entry.rules_hash = head.rules_hash;
  for (std::uint8_t i = 0; i < head.rules; ++i) entry.rules.push_back(take_bytes<RecordRule>(record));
  for (std::uint8_t i = 0; i < head.attributes; ++i) {
    const auto name = take_bytes<std::uint16_t>(record);
    const auto text = take_bytes<std::uint16_t>(record);
    JournalAttribute& attribute = entry.attributes.emplace_back();
    attribute.hash = take_bytes<std::uint64_t>(record);
    attribute.name = take_text(record, name);
    if (text > 0) attribute.text = take_text(record, text - 1U);
  }
  return entry;
}

std::uint64_t attribute_hash(std::string_view name, std::string_view value, const keys::KeyEncoder& encoder) {
  keys::SipHash hash = encoder.attribute_seed(name);
  keys::KeyEncoder::add_value(hash, value);
  return hash.finish().high;
}

}  // namespace weir::observe
