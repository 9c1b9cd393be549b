// Questions about leases and reservations, asked in each of the ways that the public headers offer.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>

#include "tests/support/toy_limiter.h"
#include "weir/ask.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using http::ToyLimiter;

class HoldCalls : public testing::Test {
 protected:
  const std::array<Attribute, 1> attributes_{Attribute{"tenant", "acme"}};
  ToyLimiter limiter_;
  LeaseLimiter& leases_ = *limiter_.leases();
  ReservationLimiter& reservations_ = *limiter_.reservations();
};

TEST_F(HoldCalls, QuestionsArriveAsTheyWereAsked) {
  LeaseQuestion question;
  question.request = Request(attributes_, {2});
  question.ttl = 30s;
  question.id = "job-7";
  question.caller = "worker";
  EXPECT_EQ(leases_.acquire(question).handle, "toy-lease");
  leases_.renew("h", 5s);
  leases_.release("h");
  EXPECT_EQ(limiter_.leases()->asked(),
            (std::vector<std::string>{"acquire tenant=acme cost=2 ttl=30000ms id=job-7 caller=worker",
                                      "renew handle=h ttl=5000ms", "release handle=h"}));
  ReservationQuestion reserve;
  reserve.request = Request(attributes_);
  reserve.amount = 100;
  reserve.partial = true;
  EXPECT_EQ(reservations_.reserve(reserve).granted, 100);
  EXPECT_EQ(reservations_.commit("r", 7).actual, 7);
  EXPECT_EQ(reservations_.release("r").state, ReservationState::released);
  reservations_.extend("r", 1s, 50);
  reservations_.get("r");
  EXPECT_EQ(limiter_.reservations()->asked(),
            (std::vector<std::string>{"reserve tenant=acme cost=1 amount=100 partial", "commit handle=r actual=7",
                                      "release handle=r", "extend handle=r amount=50 ttl=1000ms", "get handle=r"}));
}

TEST_F(HoldCalls, AKnownAnswerIsGivenInPlace) {
  bool later = false;
  std::optional<std::uint64_t> token;
  ask(
      leases_, {.request = Request(attributes_)}, [&](const LeaseAnswer& answer) { token = answer.fencing_token; },
      [&] {
        later = true;
        return [](const LeaseAnswer&) {};
      });
  EXPECT_TRUE(token);
  EXPECT_FALSE(later);
}

TEST_F(HoldCalls, AnAnswerThatComesLaterIsGivenOnce) {
  limiter_.leases()->defer();
  limiter_.reservations()->defer();
  int leases = 0;
  int reservations = 0;
  ask(
      leases_, {.request = Request(attributes_)}, [](const LeaseAnswer&) { FAIL(); },
      [&] { return [&](const LeaseAnswer& answer) { leases += answer.created ? 1 : 100; }; });
  reservations_.ask({.request = Request(attributes_)},
                    [&](const ReservationAnswer& answer) { reservations += answer.created ? 1 : 100; });
  EXPECT_EQ(leases + reservations, 0);
  limiter_.leases()->complete(0);
  limiter_.reservations()->complete(0);
  EXPECT_EQ(leases, 1);
  EXPECT_EQ(reservations, 1);
}

TEST_F(HoldCalls, ABlockingCallerWaits) {
  limiter_.leases()->defer();
  std::thread store([&] {
    while (limiter_.leases()->pending() == 0) std::this_thread::yield();
    limiter_.leases()->complete(0);
  });
  EXPECT_EQ(leases_.release("h").fault, HoldFault::none);
  store.join();
}

TEST(HoldNames, EveryFaultAndStateHasAName) {
  EXPECT_EQ(hold_fault_name(HoldFault::none), "none");
  EXPECT_EQ(hold_fault_name(HoldFault::unavailable), "unavailable");
  EXPECT_EQ(reservation_state_name(ReservationState::expired), "expired");
  EXPECT_EQ(reason_name(Reason::too_many_reservations), "too_many_reservations");
  RuleOutcome outcome;
  EXPECT_EQ(algorithm_name(outcome), "");
  outcome.algorithm = Algorithm::gcra;
  EXPECT_EQ(algorithm_name(outcome), "gcra");
  outcome.kind = ChargeKind::lease;
  EXPECT_EQ(algorithm_name(outcome), "concurrency");
}

}  // namespace
}  // namespace weir::engine
