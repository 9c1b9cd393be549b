// A call that is to be charged once tells the store so, whatever it asks; and which calls need not.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Notes the calls that charge something: by which id, and for how long its answer is kept.
class NotingStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    noted.push_back({call.action, call.once});
    return memory.begin(call);
  }
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "noting"; }

  std::vector<std::pair<Action, Once>> noted;
  memory::MemoryStore memory{MemoryOptions{}};
};

class OnceCalls : public testing::Test {
 protected:
  OnceCalls() {
    Rule rate;
    rate.id = "rate";
    rate.per = {"tenant"};
    rate.allowance = {.algorithm = Algorithm::token_bucket, .limit = 100, .window = 60s};
    Rule active;
    active.id = "active";
    active.per = {"tenant"};
    active.kind = ChargeKind::lease;
    active.allowance.limit = 10;
    active.lease = 30s;
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = {rate, active}}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1, 2, 3};
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  Request request(std::uint64_t once = 0) const {
    Request request(attributes_);
    if (once != 0) request.once = {.id = {7, once}, .keep = 1h};
    return request;
  }
  // The low half of the id of the last call, and that it is kept as it was said; 0: none.
  std::uint64_t last_once() const {
    const Once& once = store_->noted.back().second;
    EXPECT_EQ(once.keep, once ? Duration(1h) : Duration{0});
    return once.id.low;
  }

  const std::array<Attribute, 1> attributes_{Attribute{"tenant", "acme"}};
  std::shared_ptr<NotingStore> store_ = std::make_shared<NotingStore>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(OnceCalls, AChargeOfARequestHasItsId) {
  EXPECT_TRUE(engine_->check(request()).allowed);
  EXPECT_EQ(last_once(), 0U);
  EXPECT_TRUE(engine_->check(request(5)).allowed);
  EXPECT_EQ(last_once(), 5U);
  EXPECT_TRUE(engine_->check(request()).allowed);
  EXPECT_EQ(last_once(), 0U) << "the next call has none";
}

TEST_F(OnceCalls, EachRequestOfABatchHasAnIdOfItsOwn) {
  const std::vector<Request> batch = {request(5), request(6)};
  std::vector<Decision> decisions(2);
  engine_->check_batch(batch, decisions);
  ASSERT_EQ(store_->noted.size(), 2U);
  EXPECT_EQ(store_->noted[0].second.id.low, 5U);
  EXPECT_EQ(store_->noted[1].second.id.low, 6U);
}

TEST_F(OnceCalls, LeasesAndReservationsAreTakenUnderAnIdMadeOfIt) {
  LeaseQuestion lease;
  lease.request = request(5);
  const LeaseAnswer first = engine_->leases()->acquire(lease);
  EXPECT_EQ(last_once(), 5U);
  const LeaseAnswer again = engine_->leases()->acquire(lease);
  EXPECT_EQ(again.fencing_token, first.fencing_token) << "the same lease";
  EXPECT_FALSE(again.created);

  ReservationQuestion question;
  question.request = request(6);
  question.amount = 10;
  const ReservationAnswer made = engine_->reservations()->reserve(question);
  EXPECT_EQ(last_once(), 6U);
  const ReservationAnswer repeated = engine_->reservations()->reserve(question);
  EXPECT_EQ(repeated.id, made.id);
  EXPECT_FALSE(repeated.created);
  question.request = request(7);
  EXPECT_NE(engine_->reservations()->reserve(question).id, made.id);
}

TEST_F(OnceCalls, AnExtensionIsChargedOnceAndWhatSettlesCanBeRepeated) {
  ReservationQuestion question;
  question.request = request();
  question.amount = 10;
  const std::string handle = engine_->reservations()->reserve(question).handle;
  EXPECT_EQ(last_once(), 0U);
  ReservationQuestion after;
  after.handle = handle;
  after.request.once = {.id = {7, 9}, .keep = 1h};
  after.verb = ReservationQuestion::Verb::extend;
  after.amount = 5;
  EXPECT_EQ(engine_->reservations()->ask(after).granted, 15);
  EXPECT_EQ(store_->noted.back().first, Action::renew);
  EXPECT_EQ(last_once(), 9U);
  after.verb = ReservationQuestion::Verb::commit;
  after.actual = 12;
  EXPECT_EQ(engine_->reservations()->ask(after).state, ReservationState::committed);
  EXPECT_EQ(store_->noted.back().first, Action::settle);
  EXPECT_EQ(last_once(), 0U) << "its record knows that it is closed";
}

}  // namespace
}  // namespace weir::engine
