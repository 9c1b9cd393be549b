// LedgerGate: quotas (weir/quotas.h) on the ledger. Leased ones are spent from slices in memory, strict ones are taken
// in the ledger, reservations hold units there.
//
//   LedgerGate gate(ledger, clock, options);
//   gate.start();           // its thread opens an epoch, sends what an earlier process left in the usage log, and
//                           // from then on logs usage, sends it, renews slices and returns those that are idle
//   …
//   gate.stop();            // sends what there is, and gives back what is held
//
// Thread-safe. Callers never wait: what needs the ledger is completed on a thread of the ledger.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ledger/gate/held_slice.h"
#include "ledger/gate/terms_maker.h"
#include "ledger/gate/usage_log.h"
#include "ledger/ledger.h"
#include "ledger/operations/reservations.h"
#include "weir/quotas.h"

namespace weir::ledger {

struct GateOptions {
  std::string node;              // stays the same when the process is started again
  std::filesystem::path folder;  // of the usage log
  Duration slice_ttl = std::chrono::seconds(30);
  Duration margin = std::chrono::seconds(2);              // a slice is not spent in its last moments
  Duration group_period = std::chrono::milliseconds(10);  // between groups of the usage log
  Duration send_period = std::chrono::milliseconds(250);  // between usage batches
  Duration idle_after = std::chrono::milliseconds(500);   // then a slice is given back
  Duration patience = std::chrono::seconds(2);            // how long a decision waits for the ledger
  std::size_t max_slices = 100'000;  // and accounts that a failure policy admits without the ledger
  std::size_t max_waiting = 20'000;  // decisions that wait for slices
  // Of usage that the ledger does not have. Close to it nothing more is admitted, until the ledger has taken half of
  // it. What a failure policy still admits is logged up to the bound; beyond it, it is kept in memory, one sum for each
  // account, and is lost if the process is killed.
  std::size_t max_log_bytes = std::size_t{64} << 20;
  const TenantDirectory* tenants = nullptr;  // borrowed
  // What the rule with this id says about its periods; none: there is no such rule now. For reservations that are
  // settled after their period has closed. May be called from any thread.
  std::function<std::optional<Quota>(std::string_view rule)> quota_of;
  // Told what operators should know: an event's name and what happened. May be called from any thread.
  std::function<void(std::string_view event, const std::string& message)> report;
};

class LedgerGate final : public QuotaGate {
 public:
  struct Counts {
    std::int64_t epoch = 0;  // 0: none was opened yet
    bool usable = false;     // leased quotas can be taken
    std::string trouble;     // why not, or what keeps usage from being logged or sent
    std::uint64_t slices = 0;
    std::int64_t held = 0;  // units in memory
    std::uint64_t waiting = 0;
    std::uint64_t refills = 0;
    std::uint64_t returned = 0;   // units given back
    std::uint64_t groups = 0;     // of the usage log
    std::uint64_t batches = 0;    // that the ledger has
    std::uint64_t unsent = 0;     // segments
    std::uint64_t log_bytes = 0;  // of the usage log
    std::int64_t replayed = 0;    // units of earlier processes
    std::int64_t expired = 0;     // units of earlier epochs that no one reported
    std::uint64_t lapses = 0;     // times that the ledger was unavailable for longer than slices live
    std::uint64_t log_failures = 0;
    std::int64_t unrecorded = 0;  // units that a failure policy admitted and that could not be kept
  };

  // Borrowed: the ledger, the clock. Failure of the usage log's folder is reported by start().
  LedgerGate(Ledger& ledger, Clock& clock, GateOptions options);
  ~LedgerGate() override;

  Status start();
  void stop();
  Counts counts() const;
  TermsMaker& terms() { return terms_; }
  // The terms of the open period of an account whose period has closed. None: its rule is gone.
  std::optional<Terms> open_terms(const Account& closed, TimePoint wall);
  // What the directory of tenants says is different: the limits of accounts are checked again.
  void tenants_changed() { tenants_seen_.fetch_add(1, std::memory_order_relaxed); }

  Quick try_take(QuotaCharge& charge, const Reading& at) override;
  Quick try_peek(QuotaCharge& charge, const Reading& at) override;
  void confirm(QuotaCharge& charge) override;
  void put_back(QuotaCharge& charge) override;
  void reverse(const std::string& id) override;
  void release(const std::string& reservation) override;
  void admitted_without(const QuotaCharge& charge) override;
  void begin(QuotaCall& call) override;

  // What the node has admitted and not yet sent, and holds, by account: for reconciliation.
  struct Holding {
    AccountKey account;
    std::int64_t left = 0;      // can be spent
    std::int64_t pending = 0;   // of decisions that are not over
    std::int64_t unlogged = 0;  // spent
    std::int64_t unsent = 0;    // spent and in the usage log

    std::int64_t held() const { return left + pending + unlogged + unsent; }
  };
  std::vector<Holding> holdings();
  // Whether units are on their way between this node and the ledger, so that neither side alone says who has them.
  struct Movement {
    bool under_way = false;
    std::uint64_t begun = 0;

    // True if nothing moved from `before` until this.
    bool is_still_since(const Movement& before) const {
      return !before.under_way && !under_way && before.begun == begun;
    }
  };
  Movement movement() const;

 private:
  friend class LeasedCall;
  struct Ask;

  // Leased (leased.cc). `locked` functions need the shard's mutex.
  void advance(LeasedCall& call);
  Status keep_admitted(const QuotaCharge& charge);
  HeldSlice* find_locked(SliceTable::Shard& shard, QuotaCharge& charge, const Reading& at, Status& status,
                         std::vector<std::pair<Terms, std::int64_t>>& returns);
  bool follows_locked(const HeldSlice& slice, const QuotaCharge& charge) const {
    return charge.limit == slice.asked_limit && charge.since == slice.asked_since &&
           slice.tenants_seen == tenants_seen_.load(std::memory_order_relaxed);
  }
  void follow_locked(HeldSlice& slice, const QuotaCharge& charge, const Reading& at);
  void take_locked(HeldSlice& slice, QuotaCharge& charge, const Reading& at);
  static bool refuses_locked(const HeldSlice& slice, const QuotaCharge& charge, TimePoint now);
  std::optional<Ask> ask_locked(HeldSlice& slice, TimePoint now);
  void submit(Ask ask);
  void on_slice(HeldSlice& slice, TimePoint asked_at, const Result<Answer>& answer);
  void give_back(const Terms& terms, std::int64_t epoch, std::int64_t amount, HeldSlice* slice);
  static void fill(ChargeOutcome& outcome, const HeldSlice& slice, std::int64_t cost, TimePoint wall, bool admitted);

  // Strict, reservations and the rest (direct.cc).
  void take_strict(QuotaCall& call);
  void look(QuotaCall& call);
  void change(QuotaCall& call);
  void reserve(QuotaCall& call);
  void settle(QuotaCall& call);
  void look_up(QuotaCall& call);
  void narrow(QuotaCall& call);
  void submit_settlement(QuotaCall& call, std::unique_ptr<ReservationOperation> operation);
  void repeat_answer(QuotaCall& call, const Answer& told);
  void settled(QuotaCall& call, const Answer& told);
  void commit_after_close(QuotaCall& call, const std::vector<Account>& closed);

  // Upkeep (upkeep.cc), on the gate's thread.
  void work();
  bool open_epoch();
  bool is_settled();
  bool replay();
  void log_group();
  void take_group(UsageRecords& group);
  UsageRecords beyond_bound(UsageRecords& group) const;
  void note_sent(const UsageSegment& segment);
  void bound_log();
  void send_segments();
  void send_unlogged();
  void finish_segment(const UsageSegment& segment, bool taken);
  void renew();
  void tidy(TimePoint now);
  void end_epoch(const std::string& why);
  void say(std::string_view event, const std::string& message);
  void note(std::string trouble);

  Ledger& ledger_;
  Clock& clock_;
  const GateOptions options_;
  TermsMaker terms_;
  SliceTable table_;
  std::atomic<std::int64_t> epoch_{0};
  std::atomic<bool> usable_{false};
  std::atomic<std::size_t> slices_{0};
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::int64_t> unrecorded_{0};
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> tenants_seen_{0};
  const std::string prefix_;  // of operation ids: differs from that of every other process

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;  // guarded by mutex_, as are all below
  Counts counts_;
  std::map<AccountKey, std::int64_t> unsent_;  // units of slices in the usage log, of this epoch

  // Only on the gate's thread.
  std::optional<UsageLog> log_;
  std::deque<UsageSegment> segments_;
  enum class Sent : std::uint8_t { no, done, refused };
  std::atomic<Sent> sent_{Sent::no};  // what became of the first segment
  std::atomic<bool> sending_{false};
  std::atomic<bool> renewing_{false};
  std::atomic<int> underway_{0};         // operations about slices that the ledger has not answered
  std::atomic<bool> moving_{false};      // units are taken from slices, and neither in the log nor under way
  std::atomic<std::uint64_t> begun_{0};  // movements of units so far
  TimePoint renew_at_{};
  TimePoint send_at_{};
  TimePoint tidy_at_{};
  TimePoint try_at_{};
  bool has_epoch_ = false;   // and has not let its slices lapse
  bool log_failed_ = false;  // the last group could not be written
  bool log_full_ = false;    // it is close to its bound
  UsageRecords unlogged_;    // taken from slices, and not in the log because that failed or is full

  std::thread thread_;
};

}  // namespace weir::ledger
