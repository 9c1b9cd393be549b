// Usage that has happened (weir/usage.h): a reservation of nothing that is committed with what was used charges buckets
// as debt, and is idempotent by its id; quotas are charged in the ledger.
#include <algorithm>
#include <memory>
#include <random>

#include "base/ascii.h"
#include "engine/engine.h"
#include "weir/usage.h"

namespace weir::engine {
namespace {

constexpr Duration kRemembered = kMaxHoldTtl;

std::string hex_text(const BucketKey& key) {
  std::string text(32, '0');
  base::write_hex(text.data(), key.high);
  base::write_hex(text.data() + 16, key.low);
  return text;
}

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

  void add_charges(const UsageReport& report);
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
  InlineVector<Charge, 8> charges_;
  InlineVector<ChargeOutcome, 8> outcomes_;
  std::vector<QuotaCharge> quotas_;
  LedgerStep ledger_{*this};
  std::string request_text_;
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
  Request request = report.request;
  request.cost = Cost{report.amount};
  Decision unused;
  if (!engine_.plan(request, Action::take, reading(), *rules_, check_, unused)) {
    return fail(Code::invalid_argument, "attributes: there are too many, or the caller is blocked");
  }
  step_.reservation = true;
  step_.id = report.id.empty() ? engine_.hold_ids_.random()
                               : engine_.hold_ids_.named(HoldHandle::Use::reservation, report.caller,
                                                         "usage " + std::string(report.id), report.request.attributes);
  step_.ttl = kRemembered;
  step_.named = !report.id.empty();
  effective_ = report.at;
  add_charges(report);
  answer_.rules = static_cast<std::int64_t>(charges_.size() + quotas_.size());
  if (charges_.empty()) return ask_ledger();
  if (!engine_.store_->holds_reservations()) {
    return fail(Code::failed_precondition,
                "this store cannot be charged afterwards; use a check, or quotas only, for what has happened");
  }
  charges_.push_back(record_charge(step_.id, {charges_.data(), charges_.size()}));
  outcomes_.resize(charges_.size());
  charges = {charges_.data(), charges_.size()};
  outcomes = {outcomes_.data(), outcomes_.size()};
  hold = &step_;
  action = Action::take;
  check_.outlive_request(nullptr);
  if (engine_.store_->begin(*this)) settle();
}

// Buckets that follow the amount are charged through the reservation. Concurrency rules have nothing to charge.
void Engine::UsageRun::add_charges(const UsageReport& report) {
  for (std::size_t i = 0; i < check_.deciding(); ++i) {
    const rules::Match& match = check_.match_of(i);
    if (match.bad_cost) continue;
    Charge charge = check_.charges()[i];
    if (charge.kind == ChargeKind::quota) {
      QuotaCharge& quota = quotas_.emplace_back();
      quota.rule = charge.rule;
      quota.quota = &match.rule->source.quota;
      quota.key = charge.key;
      quota.limit = charge.allowance->limit;
      quota.cost = charge.cost;
      quota.since = rules_->set->loaded();
      quota.subject = quota_subject(match.rule->source, report.request);
      for (const Attribute& attribute : report.request.attributes) {
        if (attribute.name == "tenant") quota.tenant = attribute.value;
      }
      request_text_ += quota.subject + ' ' + std::to_string(quota.cost) + ' ';
    } else if (charge.kind == ChargeKind::bucket && charge.cost == report.amount) {
      charge.follows = true;
      charge.cost = 0;
      charge.binding = false;
      charge.max_subjects = 0;
      charges_.push_back(charge);
      step_.actual = report.amount;
    }
  }
}

void Engine::UsageRun::settle() {
  if (status != Code::ok) return fail(Code::unavailable, "the store did not answer; send the report again");
  if (step_.state == HoldState::gone) {  // recorded before
    answer_.replayed = true;
    return ask_ledger();
  }
  const std::int64_t actual = step_.actual;
  stage_ = Stage::settling;
  action = Action::settle;
  step_.closing = ReservationState::committed;
  step_.actual = actual;
  if (engine_.store_->begin(*this)) settled();
}

void Engine::UsageRun::settled() {
  if (status != Code::ok) return fail(Code::unavailable, "the store did not answer; send the report again");
  answer_.replayed = answer_.replayed || step_.state == HoldState::gone;
  answer_.debt = step_.debt;
  answer_.uncharged = step_.uncharged;
  if (engine_.prefilter_ != nullptr) engine_.prefilter_->forget(charges);
  ask_ledger();
}

void Engine::UsageRun::ask_ledger() {
  if (quotas_.empty()) return finish();
  if (engine_.quota_gate_ == nullptr) return fail(Code::unavailable, "this server has no ledger for the quotas");
  check_.outlive_request(nullptr);
  ledger_.verb = QuotaCall::Verb::usage;
  ledger_.at = reading();
  ledger_.charges = quotas_;
  ledger_.id = "usage " + hex_text(step_.id);
  if (step_.named) ledger_.request = hex_text(step_.id) + ' ' + std::to_string(quotas_.size());
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
