#include "frontends/resp/reserve_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace weir::resp {
namespace {

using testing::HasSubstr;

using Verb = ReservationQuestion::Verb;

std::vector<std::string> split(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// What the words ask, or what is wrong with them.
std::string asked(Verb verb, const std::string& line) {
  const std::vector<std::string> held = split(line);
  const std::vector<std::string_view> words(held.begin(), held.end());
  ReserveCommand command;
  const Result<ReservationQuestion> read = command.read(verb, words);
  if (!read.ok()) return "refused: " + read.failure().message;
  const ReservationQuestion& question = read.value();
  std::string text;
  for (const Attribute& each : question.request.attributes) {
    text += std::string(each.name) + "=" + std::string(each.value) + " ";
  }
  if (verb == Verb::reserve) text += "cost=" + std::to_string(question.request.cost.units);
  if (!question.handle.empty()) text += "handle=" + std::string(question.handle);
  if (question.amount) text += " amount=" + std::to_string(*question.amount);
  if (verb == Verb::commit) text += " actual=" + std::to_string(question.actual);
  if (question.ttl != Duration::zero()) text += " ttl=" + std::to_string(question.ttl.count());
  if (!question.id.empty()) text += " id=" + std::string(question.id);
  return text + (question.partial ? " partial" : "") + (question.dry_run ? " dry_run" : "");
}
std::string reserve(const std::string& line) { return asked(Verb::reserve, "WEIR.RESERVE " + line); }

TEST(ReserveCommand, ReadsTheAmountAndEveryOption) {
  EXPECT_EQ(reserve("5 tenant acme"), "tenant=acme cost=1 amount=5");
  EXPECT_EQ(reserve("auto tenant acme user u"), "tenant=acme user=u cost=1");
  EXPECT_EQ(reserve("AUTO tenant acme"), "tenant=acme cost=1");
  EXPECT_EQ(reserve("0 PARTIAL tenant acme"), "tenant=acme cost=1 amount=0 partial");
  EXPECT_EQ(reserve("1000000000000 DryRun tenant acme"), "tenant=acme cost=1 amount=1000000000000 dry_run");
  EXPECT_EQ(reserve("5 ttl 10 tenant acme"), "tenant=acme cost=1 amount=5 ttl=10000");
  EXPECT_EQ(reserve("5 TTL 86400000 tenant acme"), "tenant=acme cost=1 amount=5 ttl=86400000000");
  const std::string all = "tenant=acme cost=3 amount=5 ttl=60000000 id=job partial dry_run";
  EXPECT_EQ(reserve("5 PARTIAL DRYRUN ID job TTL 60000 COST 3 tenant acme"), all);
  EXPECT_EQ(reserve("5 COST 3 TTL 60000 ID job DRYRUN PARTIAL tenant acme"), all);
}

TEST(ReserveCommand, AfterTheOptionsComeAttributesWhateverTheyAreCalled) {
  EXPECT_EQ(reserve("5 tenant acme id x ttl y"), "tenant=acme id=x ttl=y cost=1 amount=5");
  EXPECT_EQ(reserve("5 ID job id x"), "id=x cost=1 amount=5 id=job");
  EXPECT_EQ(reserve("5 TTL 60000 ttl x"), "ttl=x cost=1 amount=5 ttl=60000000");
  EXPECT_EQ(reserve("5 PARTIAL partial x"), "partial=x cost=1 amount=5 partial");
  EXPECT_EQ(reserve("5 DRYRUN dryrun x"), "dryrun=x cost=1 amount=5 dry_run");
}

TEST(ReserveCommand, SaysWhatIsWrong) {
  EXPECT_THAT(reserve("-1 tenant acme"), HasSubstr("amount: is '-1'"));
  EXPECT_THAT(reserve("1000000000001 tenant acme"), HasSubstr("amount: "));
  EXPECT_THAT(reserve("many tenant acme"), HasSubstr("amount: is 'many'"));
  EXPECT_THAT(reserve("5 TTL 9 tenant acme"), HasSubstr("TTL: is '9', expected an integer from 10 to 86400000"));
  EXPECT_THAT(reserve("5 TTL 86400001 tenant acme"), HasSubstr("TTL: "));
  EXPECT_THAT(reserve("5 COST 1 COST 2 tenant acme"), HasSubstr("COST: is given twice"));
  EXPECT_THAT(reserve("5"), HasSubstr("no attribute is given"));
  EXPECT_THAT(reserve("5 PARTIAL"), HasSubstr("the last attribute has no value"));
  EXPECT_THAT(reserve("5 tenant"), HasSubstr("the last attribute has no value"));
}

TEST(ReserveCommand, ReadsWhatSettles) {
  EXPECT_EQ(asked(Verb::commit, "WEIR.COMMIT h 7"), "handle=h actual=7");
  EXPECT_EQ(asked(Verb::commit, "WEIR.COMMIT h 1000000000000"), "handle=h actual=1000000000000");
  EXPECT_THAT(asked(Verb::commit, "WEIR.COMMIT h -1"), HasSubstr("actual: is '-1'"));
  EXPECT_THAT(asked(Verb::commit, "WEIR.COMMIT h 1000000000001"), HasSubstr("actual: "));
  EXPECT_EQ(asked(Verb::release, "WEIR.RELEASE h"), "handle=h");
}

// The last ten fields of an answer as "name=value", behind those of the decision.
std::string shown(Verb verb, const ReservationAnswer& answer) {
  std::string out;
  ReplyWriter reply(out, RespVersion::two);
  ReserveCommand::write(reply, verb, answer);
  const std::size_t begin = out.find("$11\r\nreservation\r\n");
  if (begin == std::string::npos) return out;
  std::string text;
  std::vector<std::string> values;
  for (std::size_t at = begin; at < out.size();) {
    const char kind = out[at];
    std::string line = out.substr(at + 1, out.find("\r\n", at) - at - 1);
    at += line.size() + 3;
    if (kind == '$' && line != "-1") {
      const std::size_t size = std::stoul(line);
      line = out.substr(at, size);
      at += size + 2;
    }
    values.push_back(line == "-1" ? "null" : line);
  }
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) text += values[i] + "=" + values[i + 1] + " ";
  return text;
}

ReservationAnswer full_answer() {
  ReservationAnswer answer;
  answer.handle = "h";
  answer.id = std::string_view("i");
  answer.granted = 10;
  answer.actual = 9;
  answer.returned = 1;
  answer.debt = 2;
  answer.uncharged = 3;
  answer.fencing_token = 7;
  answer.expires = from_micros(5'999);
  return answer;
}

TEST(ReserveCommand, ShowsAnOpenReservation) {
  EXPECT_EQ(shown(Verb::reserve, full_answer()),
            "reservation=h id=i state=open granted=10 expires_at_ms=5 actual=null returned=null debt=null "
            "uncharged=null fencing_token=7 ");
  ReservationAnswer without = full_answer();
  without.handle.clear();
  without.fencing_token.reset();
  EXPECT_EQ(shown(Verb::reserve, without),
            "reservation=null id=i state=open granted=10 expires_at_ms=5 actual=null returned=null debt=null "
            "uncharged=null fencing_token=null ");
}

TEST(ReserveCommand, ShowsAClosedReservation) {
  ReservationAnswer answer = full_answer();
  answer.state = ReservationState::committed;
  EXPECT_EQ(shown(Verb::commit, answer),
            "reservation=h id=i state=committed granted=10 expires_at_ms=null actual=9 returned=1 debt=2 uncharged=3 "
            "fencing_token=7 ");
  answer.state = ReservationState::released;
  answer.decision.allowed = false;
  EXPECT_EQ(shown(Verb::release, answer),
            "reservation=h id=i state=released granted=10 expires_at_ms=null actual=null returned=1 debt=2 "
            "uncharged=3 fencing_token=7 ")
      << "what the rules have left is no denial";
}

TEST(ReserveCommand, ADeniedReservationHoldsNothing) {
  ReservationAnswer answer = full_answer();
  answer.handle.clear();
  answer.decision.allowed = false;
  EXPECT_EQ(shown(Verb::reserve, answer),
            "reservation=null id=null state=null granted=null expires_at_ms=null actual=null returned=null debt=null "
            "uncharged=null fencing_token=null ");
}

TEST(ReserveCommand, EveryFaultHasItsWord) {
  const std::pair<HoldFault, const char*> kFaults[] = {
      {HoldFault::invalid, "-ERR "},      {HoldFault::forged, "-NOTFOUND "},
      {HoldFault::gone, "-GONE "},        {HoldFault::closed, "-CLOSED "},
      {HoldFault::running, "-ERR "},      {HoldFault::other_body, "-ERR "},
      {HoldFault::full, "-UNAVAILABLE "}, {HoldFault::unavailable, "-UNAVAILABLE "},
  };
  static_assert(std::size(kFaults) == kHoldFaultCount - 1);
  for (const auto& [fault, word] : kFaults) {
    ReservationAnswer answer;
    answer.fault = fault;
    answer.message = "why";
    EXPECT_EQ(shown(Verb::reserve, answer), std::string(word) + "why\r\n");
  }
}

}  // namespace
}  // namespace weir::resp
