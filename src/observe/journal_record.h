// JournalEntry: one decision as the journal keeps it, and how it becomes bytes and back.
//
// A record begins with a RecordHead, then a RecordRule for each rule, then the attributes: for each the lengths of name
// and text in two bytes each, the hash of its value in eight, name and text. Texts of rule ids and sources are
// pointers: they live as long as the limiter, which the journal does not outlive.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keys/key_encoder.h"
#include "observe/subject_text.h"
#include "weir/options.h"

namespace weir::observe {

// What a rule said, and its state at that moment.
struct RecordRule {
  std::string_view rule;
  BucketKey subject;
  std::uint32_t ordinal = 0;
  Mode mode = Mode::enforce;
  bool allowed = true;
  bool unlimited = false;
  bool store_failed = false;
  bool shared = false;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t cost = 0;
  Duration retry_after{0};
  Duration reset_after{0};
};

struct JournalAttribute {
  std::string name;
  std::uint64_t hash = 0;           // the first digits of the keyed hash of the value
  std::optional<std::string> text;  // the value, where it may be kept
};

struct JournalEntry {
  std::uint32_t ring = 0;      // which ring of the journal, and where in it
  std::uint64_t position = 0;  // together they identify the entry
  TimePoint at;
  bool allowed = true;
  bool degraded = false;
  Reason reason = Reason::ok;
  std::int32_t deciding = -1;  // index in `rules`, -1: none
  std::uint32_t count = 1;     // how often the same was denied within a second
  std::int64_t cost = 0;
  Duration retry_after{0};
  std::string_view source;
  std::uint64_t rules_version = 0;  // as in RequestContext, like the hash
  std::uint64_t rules_hash = 0;
  std::vector<RecordRule> rules;
  std::vector<JournalAttribute> attributes;

  bool shadow_denied() const;
  const RecordRule* decisive() const { return deciding < 0 ? nullptr : &rules[static_cast<std::size_t>(deciding)]; }
  const JournalAttribute* find(std::string_view name) const;
};

// Of a record: more are left out, the decisive rule last.
inline constexpr std::size_t kMaxRecordRules = 16;
inline constexpr std::size_t kMaxRecordAttributes = 16;

// Which values are kept as text.
struct RecordOptions {
  bool plain = false;  // those that are no secrets; false: only action and method
  SecretNames secrets;
};

void append_record(std::string& out, const Decision& decision, const RequestContext& context,
                   const RecordOptions& options, const keys::KeyEncoder& encoder);
// Where the 32-bit count of a record is.
std::size_t record_count_offset();
JournalEntry read_record(std::string_view record);

// What can be told of a record without reading all of it: for a search that skips most of them.
struct RecordGlance {
  TimePoint at;
  bool allowed = true;
  Reason reason = Reason::ok;
};
RecordGlance glance_at(std::string_view record);

// The hash that JournalAttribute has for this value.
std::uint64_t attribute_hash(std::string_view name, std::string_view value, const keys::KeyEncoder& encoder);

}  // namespace weir::observe
