// HotKeys: which subjects ask most, which are denied most, and which are close to their limit. In bounded memory and
// without their names: a subject is its hash.
//
// HotKeyCounter is one loop's part: an observer that looks at one decision in `every` (1 while there are few), and at
// each denial and each decision that leaves less than a fifth of a limit. HotKeys takes what the loops have counted
// once a second and merges it: rates are averages over a few seconds, of which the latest second is half.
//
// A counter never waits: what it sees while its table is being taken is left out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/heavy_sketch.h"
#include "weir/options.h"

namespace weir::observe {

// How full a subject's bucket was when it was last seen.
struct SubjectFill {
  SubjectKey key;
  std::string_view rule;
  bool shared = false;
  std::int64_t used = 0;
  std::int64_t limit = 0;  // the capacity
  TimePoint at;

  double share() const { return limit > 0 ? static_cast<double>(used) / static_cast<double>(limit) : 1; }
};

class HotKeyCounter final : public Observer {
 public:
  // What was counted since the table was last taken.
  struct Table {
    static constexpr std::size_t kFills = 256;

    HeavySketch asked;   // a sample of all decisions, one in `every`
    HeavySketch denied;  // every denial, by the rule that is reported
    std::array<SubjectFill, kFills> fills{};
    std::uint64_t decisions = 0;
    std::uint32_t every = 1;

    void clear();
  };

  explicit HotKeyCounter(std::uint64_t seed);

  // On the owning loop only.
  void on_decision(const Decision& decision) override;

  // From one other thread: subjects of these rules (RuleOutcome::ordinal, ascending) are not counted from now on.
  void leave_out(std::vector<std::uint32_t> ordinals);

  // From one other thread: exchanges the table for `empty`, and looks at one decision in `every` from now on, a power
  // of two.
  std::unique_ptr<Table> take(std::unique_ptr<Table> empty, std::uint32_t every);

 private:
  void count(const Decision& decision, bool drawn);
  void note_fill(const RuleOutcome& rule, TimePoint at);
  bool is_left_out(const RuleOutcome& rule) const;
  std::uint64_t next_random() { return random_ = random_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U; }

  std::uint64_t random_;                      // of the loop
  std::atomic<std::uint32_t> shift_{0};       // one decision in 2^shift_
  std::atomic<std::uint64_t> decisions_{0};   // written by the loop
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  // guards the next two
  std::unique_ptr<Table> table_;
  std::vector<std::uint32_t> left_out_;
  std::uint64_t taken_decisions_ = 0;  // of the thread that takes
};

class HotKeys {
 public:
  static constexpr std::size_t kMaxSubjects = 512;  // of each kind, kept between seconds
  static constexpr std::size_t kFillsOfRule = 4;    // fullest subjects of one rule
  static constexpr std::size_t kMaxRules = 256;     // with such subjects
  static constexpr Duration kFillLives = std::chrono::seconds(60);

  struct Subject {
    SubjectKey key;
    bool shared = false;
    double per_second = 0;
    TimePoint since;  // it has been among them without a break
  };

  // The counters are borrowed.
  explicit HotKeys(std::vector<HotKeyCounter*> loops);

  // Subjects of these rules are neither counted nor shown: those with `hot_keys: off`. From the thread of merge().
  void leave_out(std::vector<std::uint32_t> ordinals);

  // From one thread at a time, about once a second.
  void merge(TimePoint now);

  // From any thread. Most first, at most `count`.
  std::vector<Subject> asked(std::size_t count) const;
  std::vector<Subject> denied(std::size_t count) const;
  // Fullest first: of all rules, or of the rule with this ordinal; at least `least` full.
  std::vector<SubjectFill> fullest(std::size_t count, double least) const;
  std::vector<SubjectFill> fullest_of(std::uint32_t ordinal, std::size_t count) const;
  // Decisions a second, of which the shares of subjects are parts.
  double decisions_per_second() const;
  // How many subjects ask for at least this share of all decisions.
  std::size_t hot(double share) const;

 private:
  struct KeyHash {
    std::size_t operator()(const SubjectKey& key) const {
      return static_cast<std::size_t>(key.subject.low ^ key.subject.high * 31 ^ key.ordinal);
    }
  };
  using Subjects = std::unordered_map<SubjectKey, Subject, KeyHash>;

  static void halve(Subjects& subjects);
  static void add(Subjects& subjects, const HeavySketch& sketch, double scale, TimePoint now);
  static void bound(Subjects& subjects);
  static std::vector<Subject> most(const Subjects& subjects, std::size_t count);
  void add_fill(const SubjectFill& fill);
  void drop_old_fills(TimePoint now);

  const std::vector<HotKeyCounter*> loops_;
  std::vector<std::unique_ptr<HotKeyCounter::Table>> spare_;  // of merge(), one for each loop
  std::vector<std::uint32_t> every_;                          // of merge(), one for each loop
  TimePoint merged_;                                          // of merge()
  std::vector<std::uint32_t> left_out_;                       // of leave_out()

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  Subjects asked_;
  Subjects denied_;
  std::unordered_map<std::uint32_t, std::vector<SubjectFill>> fills_;  // by rule, fullest first
  double decisions_per_second_ = 0;
};

}  // namespace weir::observe
