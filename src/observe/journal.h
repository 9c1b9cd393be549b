// Journal: the latest decisions, with the state of every rule at that moment, to answer "why was this denied?".
//
// Every denial and every denial by a rule in shadow mode is kept, and a sample of the rest, in memory of fixed size:
// the newest replace the oldest. The sample has a part of its own, so that it never pushes out denials. When the same
// request is denied again within a second, for the same reason and by the same rule, its entry counts it: a flood
// neither fills the journal nor costs much.
//
// No raw identity is kept unless `plain`: of the attributes' values there is a keyed hash, which a search computes for
// the values that it is given. Values of `action` and `method` are kept.
//
// JournalWriter is one loop's part: an observer, not thread-safe. Journal is thread-safe; a search reads while loops
// write. Ad-hoc charges are not in the journal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "keys/key_encoder.h"
#include "observe/journal_record.h"
#include "observe/journal_ring.h"
#include "weir/options.h"

namespace weir::observe {

struct JournalOptions {
  std::size_t bytes = std::size_t{16} << 20;  // of all loops together
  std::int64_t sample = 10'000;               // of what is allowed, in parts of a million
  RecordOptions record;
  HashKey hash_key{};
};

class JournalWriter final : public RequestObserver {
 public:
  // So many allowed decisions of each second are kept whatever the sample is.
  static constexpr std::int64_t kSurelyKept = 20;

  JournalWriter(const JournalOptions& options, JournalRing& denials, JournalRing& sample, std::uint64_t seed);

  Scope scope() const override { return Scope::every_decision; }
  // Draws the sample of what is allowed: of most decisions, nothing else is checked.
  bool wants(const Decision& decision) override;
  void on_decision(const Decision& decision, const RequestContext& context) override;

 private:
  // The last denial that took this place, to be counted on.
  struct Repeated {
    std::uint64_t request = 0;  // a hash of its attributes, its subject, the rule and the reason
    std::uint64_t position = 0;
    TimePoint until;
  };
  static constexpr std::size_t kRepeated = 4096;

  bool draw(TimePoint at);
  void keep_denial(const RuleOutcome* rule, const Decision& decision, const RequestContext& context);
  std::uint64_t keep(JournalRing& ring, const Decision& decision, const RequestContext& context);
  std::uint64_t hash_of(std::span<const Attribute> attributes) const;

  const RecordOptions options_;
  const keys::KeyEncoder encoder_;
  JournalRing& denials_;
  JournalRing& sample_;
  const std::uint64_t share_;  // of 2^32
  const std::uint64_t salt_;
  std::uint64_t random_;
  TimePoint second_ends_;
  std::int64_t kept_ = 0;  // in that second
  std::vector<Repeated> repeated_{kRepeated};
  std::string record_;
};

// Which entries a search is about. Everything that is given must fit.
struct JournalQuery {
  enum class Outcome : std::uint8_t { any, allowed, denied, shadow };
  std::vector<std::pair<std::string, std::string>> attributes = {};
  std::string rule = {};     // one that the request was counted by; of a denial the one that is reported
  std::string subject = {};  // digits of its hash, as answers show them
  std::optional<Reason> reason = {};
  Outcome outcome = Outcome::any;
  std::optional<TimePoint> from = {};   // included
  std::optional<TimePoint> until = {};  // not included
};

// Where an entry is in the order of a search: newest first.
struct JournalPlace {
  TimePoint at;
  std::uint32_t ring = 0;
  std::uint64_t position = 0;
  friend auto operator<=>(const JournalPlace&, const JournalPlace&) = default;
};
inline JournalPlace place_of(const JournalEntry& entry) { return {entry.at, entry.ring, entry.position}; }
// As one word that sorts nothing: the id of an entry, and the cursor of a search.
std::string place_text(const JournalPlace& place);
std::optional<JournalPlace> place_from_text(std::string_view text);

class Journal {
 public:
  Journal(const JournalOptions& options, std::size_t loops);

  // Lives as long as the journal.
  std::shared_ptr<JournalWriter> make_writer(std::size_t loop, std::uint64_t seed);

  // The query with its values hashed. Cheap to copy.
  class Filter {
   public:
    bool fits(const RecordGlance& glance) const;
    bool fits(const JournalEntry& entry) const;

   private:
    friend class Journal;
    JournalQuery query_;
    std::vector<std::pair<std::string, std::uint64_t>> hashes_;
  };
  Filter filter(const JournalQuery& query) const;

  // The newest entries that fit and come after `after` in that order, at most `count`. Takes milliseconds: not for a
  // loop.
  std::vector<JournalEntry> search(const Filter& filter, std::size_t count,
                                   const std::optional<JournalPlace>& after = {}) const;

  // For readers that follow: what has been written since the last call.
  struct News {
    std::vector<JournalEntry> entries;  // oldest first
    std::uint64_t lost = 0;             // entries that were not checked, because there were too many
  };
  class Follower {
   public:
    // Looks at no more than `most` entries, and skips the rest.
    News next(const Filter& filter, std::size_t most);

   private:
    friend class Journal;
    explicit Follower(const Journal& journal) : journal_(&journal) {}
    const Journal* journal_;
    std::vector<JournalRing::End> read_;  // how far, in each ring
  };
  // From the next entry on. The journal must outlive it.
  Follower follow() const;

  // How often an entry's request was denied by now; what the entry says, if it has been replaced.
  std::uint32_t count_of(const JournalEntry& entry) const;

  // Denials and others that were ever kept.
  std::uint64_t written() const;
  std::size_t bytes() const { return bytes_; }
  const keys::KeyEncoder& encoder() const { return encoder_; }
  bool plain() const { return options_.record.plain; }

 private:
  const JournalOptions options_;
  const keys::KeyEncoder encoder_;
  std::vector<std::unique_ptr<JournalRing>> rings_;  // for each loop denials, then the sample
  std::size_t bytes_ = 0;
};

}  // namespace weir::observe
