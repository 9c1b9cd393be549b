#include "frontends/render/hold_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/render/decision_json.h"

namespace weir::render {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The decision's members as they stand in another object.
std::string members_of(const Decision& decision) {
  std::string text;
  append_decision(text, decision);
  return "," + text.substr(1);
}

LeaseAnswer a_lease() {
  LeaseAnswer answer;
  answer.handle = "h\"1";
  answer.fencing_token = 1'800'000'000'000'000;
  answer.expires = from_micros(1'800'000'030'000'999);
  answer.ttl = Duration{30'000'999};
  answer.decision.cost = 2;
  return answer;
}

ReservationAnswer a_reservation() {
  ReservationAnswer answer;
  answer.handle = "h1";
  answer.id = ReservationId(BucketKey{0x1, 0x2});
  answer.granted = 10;
  answer.expires = from_micros(1'999);
  return answer;
}

std::string written(const LeaseAnswer& answer) {
  std::string out;
  append_lease(out, answer);
  return out;
}
std::string written(const ReservationAnswer& answer) {
  std::string out;
  append_reservation(out, answer);
  return out;
}

TEST(HoldJson, ALeaseHasItsMembersAndThoseOfItsDecision) {
  LeaseAnswer answer = a_lease();
  EXPECT_EQ(written(answer),
            R"({"lease":"h\"1","fencing_token":1800000000000000,"expires_at_ms":1800000030000,"ttl_ms":30000)" +
                members_of(answer.decision));
  answer.fencing_token.reset();
  EXPECT_THAT(written(answer), HasSubstr(R"("fencing_token":null,"expires_at_ms")"));
}

TEST(HoldJson, AReservationThatIsOpenTellsWhenItEnds) {
  ReservationAnswer answer = a_reservation();
  const std::string begin =
      R"({"reservation":"h1","id":"00000000000000010000000000000002","state":"open","granted":10,)";
  EXPECT_EQ(written(answer), begin + R"("expires_at_ms":1)" + members_of(answer.decision));
  answer.estimated = 12;
  answer.fencing_token = 7;
  EXPECT_EQ(written(answer),
            begin + R"("estimated":12,"expires_at_ms":1,"fencing_token":7)" + members_of(answer.decision));
}

TEST(HoldJson, AReservationThatIsClosedTellsWhatBecameOfIt) {
  ReservationAnswer answer = a_reservation();
  answer.handle.clear();
  answer.actual = 11;
  answer.returned = 1;
  answer.debt = 2;
  answer.uncharged = 3;
  const std::string id = R"({"id":"00000000000000010000000000000002","state":)";
  const std::string end = R"("returned":1,"debt":2,"uncharged":3)" + members_of(answer.decision);
  answer.state = ReservationState::committed;
  EXPECT_EQ(written(answer), id + R"("committed","granted":10,"actual":11,)" + end);
  answer.state = ReservationState::released;
  EXPECT_EQ(written(answer), id + R"("released","granted":10,)" + end);
  answer.state = ReservationState::expired;
  EXPECT_EQ(written(answer), id + R"("expired","granted":10,)" + end);
}

TEST(HoldJson, ListsSayWhetherTheyAreComplete) {
  LeaseAnswer leases;
  const auto leases_written = [&] {
    std::string out;
    append_leases(out, leases);
    return out;
  };
  EXPECT_EQ(leases_written(), R"({"leases":[],"complete":true})");
  leases.list = {{"r\"1", "h1", 2, from_micros(1'999)}, {"r2", "h2", 3, from_micros(2'000)}};
  leases.list_cut = true;
  EXPECT_EQ(leases_written(), R"({"leases":[{"rule":"r\"1","lease":"h1","units":2,"expires_at_ms":1},)"
                              R"({"rule":"r2","lease":"h2","units":3,"expires_at_ms":2}],"complete":false})");

  ReservationAnswer reservations;
  const auto reservations_written = [&] {
    std::string out;
    append_reservations(out, reservations);
    return out;
  };
  EXPECT_EQ(reservations_written(), R"({"reservations":[],"complete":true})");
  reservations.list = {{"r1", "i1", "h", 2, from_micros(1'000), from_micros(2'999)}};
  reservations.list_cut = true;
  EXPECT_EQ(reservations_written(), R"({"reservations":[{"rule":"r1","id":"i1","units":2,"reserved_at_ms":1,)"
                                    R"("expires_at_ms":2}],"complete":false})")
      << "without the handle: it is for operators";
}

TEST(HoldJson, EveryFaultIsAProblemWithItsStatusAndCode) {
  const std::pair<HoldFault, int> kFaults[] = {
      {HoldFault::invalid, 400}, {HoldFault::forged, 404},     {HoldFault::gone, 410}, {HoldFault::closed, 409},
      {HoldFault::running, 409}, {HoldFault::other_body, 422}, {HoldFault::full, 503}, {HoldFault::unavailable, 503}};
  static_assert(std::size(kFaults) == kHoldFaultCount - 1);
  for (const auto& [fault, status] : kFaults) {
    EXPECT_EQ(status_of(fault), status);
    std::string out;
    append_hold_problem(out, fault, "No \"lease\"", "why");
    EXPECT_EQ(out, R"({"type":"about:blank","title":"No \"lease\"","status":)" + std::to_string(status) +
                       R"(,"detail":"why","code":")" + std::string(hold_fault_name(fault)) + "\"}");
  }
}

// What people read in the detail of a denial.
TEST(DenialSentence, TellsTheReasonTheRuleAndTheWait) {
  const auto sentence = [](auto change) {
    Decision decision;
    decision.allowed = false;
    decision.reason = Reason::limit_exceeded;
    decision.deciding = 0;
    decision.cost = 5;
    RuleOutcome rule;
    rule.rule = "search";
    rule.limit = 100;
    rule.cost = 7;
    rule.allowed = false;
    rule.window = std::chrono::seconds(60);
    decision.rules.push_back(rule);
    change(decision);
    std::string text;
    append_denial(text, decision, 429);
    const std::string mark = R"("detail":")";
    const std::size_t begin = text.find(mark) + mark.size();
    return text.substr(begin, text.find('"', begin) - begin);
  };
  using D = Decision;
  const std::pair<void (*)(D&), const char*> kSentences[] = {
      {[](D&) {}, "The request is over its limit: rule search allows 100 per 60 s."},
      {[](D& d) { d.retry_after = std::chrono::milliseconds(1'500); },
       "The request is over its limit: rule search allows 100 per 60 s; try again in 1500 ms."},
      {[](D& d) { d.retry_after = std::chrono::seconds(2); },
       "The request is over its limit: rule search allows 100 per 60 s; try again in 2 s."},
      {[](D& d) { d.rules[0].window = Duration{0}, d.rules[0].kind = ChargeKind::lease; },
       "The request is over its limit: rule search allows 100 at a time."},
      {[](D& d) { d.rules[0].window = Duration{0}, d.rules[0].kind = ChargeKind::quota; },
       "The request is over its limit: rule search allows 100 in its period."},
      {[](D& d) { d.rules[0].window = Duration{0}; }, "The request is over its limit: rule search allows 100."},
      {[](D& d) { d.reason = Reason::cost_too_large; },
       "The request is over its limit: rule search allows 100 per 60 s; a cost of 7 can never fit."},
      {[](D& d) { d.reason = Reason::cost_too_large, d.rules.clear(), d.deciding = -1; },
       "The request is over its limit; a cost of 5 can never fit."},
      {[](D& d) { d.reason = Reason::cost_too_large, d.rules[0].bad_cost = true; },
       "The request is over its limit: rule search allows 100 per 60 s; the attribute that the rule takes the cost "
       "from is not a whole number."},
      {[](D& d) { d.reason = Reason::too_many_reservations; },
       "There are too many open reservations; settle some first."},
      {[](D& d) { d.reason = Reason::challenge; },
       "The client has to pass a challenge first: rule search allows 100 per 60 s."},
      {[](D& d) { d.reason = Reason::penalized; },
       "The caller is blocked for a while after repeated violations: rule search allows 100 per 60 s."},
      {[](D& d) { d.reason = Reason::shed, d.rules.clear(), d.deciding = -1; },
       "The service is overloaded and sheds load."},
      {[](D& d) { d.reason = Reason::store_unavailable, d.rules.clear(), d.deciding = -1; },
       "The limits cannot be checked at the moment."},
      {[](D& d) { d.reason = Reason::blocked, d.rules.clear(), d.deciding = -1; },
       "The caller is blocked, or its credentials were not accepted."},
  };
  for (const auto& [change, expected] : kSentences) EXPECT_EQ(sentence(change), expected);
}

}  // namespace
}  // namespace weir::render
