// IdempotencyTable: the answers to calls that came with an Idempotency-Key, for as long as they are to be replayed.
//
//   switch (table.begin(scope, body, now, answer)) { … }
//   table.finish(scope, answer, until);     // or, if the call had no effect: table.forget(scope);
//
// A scope is whose key it is and the key itself (scope_of()). An entry is running from begin() until finish() or
// forget(); after finish() it is replayed until `until`. Both numbers of the bounds include running entries. When there
// is no room, nothing that is still to be replayed is dropped: the call is refused.
//
// Thread-safe. Owns what it keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir::http {

struct RecordedAnswer {
  int status = 0;
  std::string content_type;
  std::string fields;
  std::string body;

  std::size_t bytes() const { return content_type.size() + fields.size() + body.size(); }
};

class IdempotencyTable {
 public:
  struct Bounds {
    std::size_t entries = 100'000;
    std::size_t bytes = std::size_t{64} << 20;  // of scopes and answers
  };
  enum class Found : std::uint8_t {
    fresh,        // and running from now on
    replayed,     // the answer is there
    running,      // the first call with this key has no answer yet
    other_body,   // the key was used for something else
    full,         // there is no room for another key
    unavailable,  // not known: the table is kept elsewhere, and did not answer (once_store.h)
  };

  explicit IdempotencyTable(Bounds bounds) : bounds_(bounds) {}

  // No two of these give the same scope.
  static std::string scope_of(std::string_view caller, std::string_view tenant, std::string_view key);

  Found begin(const std::string& scope, const BucketKey& body, TimePoint now, RecordedAnswer& answer);
  // Precondition: it is running. The answer is replayed between the two times; before, the call counts as running. An
  // answer for which there is no room is not kept, and the key is forgotten.
  void finish(const std::string& scope, RecordedAnswer answer, TimePoint from, TimePoint until);
  void forget(const std::string& scope);

  std::size_t size() const;

 private:
  struct Entry {
    BucketKey body;
    bool running = true;
    RecordedAnswer answer{};
    TimePoint from{};
    TimePoint until{};
  };
  using Entries = std::unordered_map<std::string, Entry>;

  static constexpr std::size_t kEntryBytes = 256;  // beside its texts

  static std::size_t bytes_of(const Entries::value_type& entry) {
    return kEntryBytes + entry.first.size() + entry.second.answer.bytes();
  }
  void drop_expired(TimePoint now);
  void erase(Entries::iterator entry);

  const Bounds bounds_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Entries entries_;
  std::multimap<TimePoint, std::string> by_time_;  // those that are not running
  std::size_t bytes_ = 0;
};

}  // namespace weir::http
