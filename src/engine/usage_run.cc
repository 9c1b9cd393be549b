// Usage that has happened (weir/usage.h): a reservation of nothing that is committed with what was used charges buckets
// as debt, and is idempotent by its id; quotas are charged in the ledger. Nothing refuses it: neither blocks, nor
// shedding, nor a cost that cannot be read.
#include <algorithm>
#include <deque>
#include <memory>

#include "engine/hold_run.h"
#include "engine/stages/quota_gate.h"
#include "weir/usage.h"

namespace weir::engine {
namespace {

constexpr Duration kRemembered = kMaxHoldTtl;
// Clocks of those that report may be ahead by so much.
constexpr Duration kMostAhead = std::chrono::minutes(5);

}  // namespace

// Owns itself until it is over: takes, settles, and then asks the ledger.
class Engine::UsageRun final : public StoreCall {
 public:
  UsageRun(Engine& engine, std::function<void(const UsageAnswer&)> done) : engine_(engine), done_(std::move(done)) {}

  void start(const UsageReport& report);
  void complete() override {
    if (stage_ == Stage::taking) return settle();
    if (stage_ == Stage::settling) return settled();
  }

 private:
  enum class Stage : std::uint8_t { taking, settling };
  class LedgerStep final : public QuotaCall {
   public:
    explicit LedgerStep(UsageRun& run) : run_(run) {}
    void complete() override { run_.ledger_answered(); }

   private:
    UsageRun& run_;
  };

  // The buckets that are charged the same, which is one reservation.
  struct Group {
    std::int64_t units = 0;
    BucketKey id;
    InlineVector<Charge, 8> charges;
    InlineVector<bool, 8> enforced;  // for each charge but the record: its rule is not in shadow mode
  };
  void add_charges(const UsageReport& report, const Request& request);
  void add_quota(std::size_t place, std::int64_t cost, const Request& request);
  Group& group_of(const UsageReport& report, std::int64_t units);
  void charge_next_group();
  void settle();
  void settled();
  void ask_ledger();
  void ledger_answered();
  void fail(Code code, std::string message);
  void finish() {
    const std::unique_ptr<UsageRun> self(this);
    done_(answer_);
  }

  Engine& engine_;
  const std::function<void(const UsageAnswer&)> done_;
  std::shared_ptr<const ActiveRules> rules_;
  Check check_;
  Stage stage_ = Stage::taking;
  HoldStep step_;
  BucketKey id_;  // of the report
  bool named_ = false;
  std::deque<Group> groups_;  // the first is being charged
  InlineVector<ChargeOutcome, 8> outcomes_;
  std::vector<QuotaCharge> quotas_;
  LedgerStep ledger_{*this};
  TimePoint effective_{};
  UsageAnswer answer_;
};

void Engine::record(const UsageReport& report, std::function<void(const UsageAnswer&)> done) {
  (new UsageRun(*this, std::move(done)))->start(report);
}

void Engine::UsageRun::fail(Code code, std::string message) {
  answer_.status = code;
  answer_.message = std::move(message);
  finish();
}

void Engine::UsageRun::start(const UsageReport& report) {
  set_reading(engine_.clock_->read());
  rules_ = engine_.rules_.current_shared();
  if (report.amount < 0 || report.amount > kMaxUnits) {
    return fail(Code::invalid_argument,
                "amount: is " + std::to_string(report.amount) + ", expected 0 to " + std::to_string(kMaxUnits));
  }
  if (report.at > reading().wall() + kMostAhead) {
    return fail(Code::invalid_argument, "the time is in the future; expected at most 5 minutes ahead of the server's");
  }
  Request asked = report.request;
  asked.cost = Cost{report.amount};
  if (!Check::within_bounds(asked)) return fail(Code::invalid_argument, "attributes: there are too many");
  rules::CompletedRequest room;
  const Request& request = completed(asked, *rules_, room);
  check_.plan(request, reading().wall(), *rules_, engine_.rules_.encoder(), engine_.with_tags_);
  named_ = !report.id.empty() || report.request.once;
  id_ = report.id.empty() ? engine_.hold_ids_.of(HoldHandle::Use::reservation, report.request.once)
                          : engine_.hold_ids_.named(HoldHandle::Use::reservation, report.caller,
                                                    "usage " + std::string(report.id), report.request.attributes);
  effective_ = report.at;
  add_charges(report, request);
  check_.outlive_request(nullptr);
  if (!groups_.empty() && !engine_.store_->holds_reservations()) {
    return fail(Code::failed_precondition, "this store cannot be charged for past usage; use a check, or quotas only");
  }
  charge_next_group();
}

// Rules with a cost of their own are charged that. Concurrency rules have nothing to charge.
void Engine::UsageRun::add_charges(const UsageReport& report, const Request& request) {
  for (std::size_t i = 0; i < check_.deciding(); ++i) {
    const rules::Match& match = check_.match_of(i);
    Charge charge = check_.charges()[i];
    const std::int64_t cost = match.bad_cost ? report.amount : charge.cost;
    if (charge.kind == ChargeKind::quota) {
      add_quota(i, cost, request);
      ++answer_.rules;
    } else if (charge.kind == ChargeKind::bucket && charge.value == 0) {
      charge.follows = true;
      charge.cost = 0;
      charge.max_subjects = 0;
      Group& group = group_of(report, cost);
      group.enforced.push_back(charge.binding);
      charge.binding = false;  // nothing holds back what has happened
      group.charges.push_back(charge);
      ++answer_.rules;
    }
  }
}

void Engine::UsageRun::add_quota(std::size_t place, std::int64_t cost, const Request& request) {
  QuotaCharge& quota = quotas_.emplace_back(quota_charge(check_, place));
  quota.cost = cost;
  quota.outcome = {};  // also where the cost cannot be read
  quota.subject = quota_subject(check_.match_of(place).rule->source, request);
  for (const Attribute& attribute : request.attributes) {
    if (attribute.name == "tenant") quota.tenant = attribute.value;
  }
}

// The group of the report's own amount has the report's id.
Engine::UsageRun::Group& Engine::UsageRun::group_of(const UsageReport& report, std::int64_t units) {
  for (Group& each : groups_) {
    if (each.units == units) return each;
  }
  Group& made = groups_.emplace_back();
  made.units = units;
  made.id = id_;
  if (units == report.amount) return made;
  if (!report.id.empty()) {
    made.id = engine_.hold_ids_.named(HoldHandle::Use::reservation, report.caller,
                                      "usage of " + std::to_string(units) + " " + std::string(report.id),
                                      report.request.attributes);
    return made;
  }
  constexpr std::size_t kBeyondAnyBatch = std::size_t{1} << 20U;  // whose parts have the ids before
  Once once_here = report.request.once;
  if (once_here) once_here = once_here.at(kBeyondAnyBatch + groups_.size());
  made.id = engine_.hold_ids_.of(HoldHandle::Use::reservation, once_here);
  return made;
}

void Engine::UsageRun::charge_next_group() {
  if (groups_.empty()) return ask_ledger();
  Group& group = groups_.front();
  step_ = {};
  step_.reservation = true;
  step_.id = group.id;
  step_.ttl = kRemembered;
  step_.named = named_;
  Charge record;
  make_record_charge(step_.id, {group.charges.data(), group.charges.size()}, record);
  group.charges.push_back(record);
  outcomes_.clear();
  outcomes_.resize(group.charges.size());
  charges = {group.charges.data(), group.charges.size()};
  outcomes = {outcomes_.data(), outcomes_.size()};
  hold = &step_;
  action = Action::take;
  stage_ = Stage::taking;
  if (engine_.store_->begin(*this)) settle();
}

void Engine::UsageRun::settle() {
  if (status != Code::ok) return fail(Code::unavailable, "the store did not answer; send the report again");
  if (step_.state == HoldState::gone) {  // recorded before
    answer_.replayed = true;
    groups_.pop_front();
    return charge_next_group();
  }
  Group& group = groups_.front();
  stage_ = Stage::settling;
  action = Action::settle;
  step_.closing = ReservationState::committed;
  step_.actual = group.units;
  for (std::size_t i = 0; i < group.enforced.size(); ++i) group.charges[i].binding = group.enforced[i];
  if (engine_.store_->begin(*this)) settled();
}

void Engine::UsageRun::settled() {
  if (status != Code::ok) return fail(Code::unavailable, "the store did not answer; send the report again");
  answer_.replayed = answer_.replayed || step_.state == HoldState::gone;
  answer_.debt = std::max(answer_.debt, step_.debt);
  answer_.uncharged = std::max(answer_.uncharged, step_.uncharged);
  if (step_.state == HoldState::ended) {
    engine_.uncharged_units_.fetch_add(static_cast<std::uint64_t>(step_.uncharged), std::memory_order_relaxed);
  }
  if (engine_.prefilter_ != nullptr) engine_.prefilter_->forget(charges);
  groups_.pop_front();
  charge_next_group();
}

void Engine::UsageRun::ask_ledger() {
  if (quotas_.empty()) return finish();
  if (engine_.quota_gate_ == nullptr) return fail(Code::unavailable, "this server has no ledger for the quotas");
  ledger_.verb = QuotaCall::Verb::usage;
  ledger_.at = reading();
  ledger_.charges = quotas_;
  ledger_.id = "usage " + hex_text(id_);
  if (named_) ledger_.request = hex_text(id_) + ' ' + std::to_string(quotas_.size());
  ledger_.effective = effective_;
  engine_.quota_gate_->begin(ledger_);
}

void Engine::UsageRun::ledger_answered() {
  if (ledger_.status != Code::ok) {
    const bool bad = ledger_.status == Code::failed_precondition || ledger_.status == Code::invalid_argument;
    return fail(bad ? Code::invalid_argument : Code::unavailable,
                ledger_.message.empty() ? "the ledger did not answer; send the report again" : ledger_.message);
  }
  answer_.overage = ledger_.overage;
  answer_.replayed = answer_.replayed || ledger_.replayed;
  finish();
}

}  // namespace weir::engine
