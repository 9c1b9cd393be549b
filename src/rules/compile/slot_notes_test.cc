#include "rules/compile/slot_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Rule rule(std::string id, std::vector<std::string> per, std::vector<Condition> match = {}) {
  Rule made;
  made.id = std::move(id);
  made.per = std::move(per);
  made.match = std::move(match);
  return made;
}

TEST(SlotNotes, RulesThatCountByTenantShareASlotByDefault) {
  EXPECT_THAT(slot_notes({.rules = {rule("a", {"tenant"}), rule("b", {"tenant", "user"})}}), IsEmpty());
}

TEST(SlotNotes, NamesThePairAndTheTagThatWouldJoinIt) {
  Rules rules{.rules = {rule("a", {"tenant"}), rule("b", {"tenant", "user"})}};
  rules.rules[1].hash_tag = HashTag::subject;
  EXPECT_THAT(slot_notes(rules), ElementsAre(HasSubstr("rules a and b: can apply to one request and are in different "
                                                       "slots; hash_tag: tenant on both puts them into one slot")));
}

TEST(SlotNotes, SaysWhenNoTagJoinsThem) {
  EXPECT_THAT(slot_notes({.rules = {rule("a", {"tenant"}), rule("b", {"ip"})}}),
              ElementsAre(HasSubstr("no hash_tag puts them into one slot")));
}

TEST(SlotNotes, RulesThatCannotMeetAreNotNamed) {
  EXPECT_THAT(slot_notes({.rules = {rule("a", {"tenant"}, {{"action", {"read"}}}),
                                    rule("b", {"ip"}, {{"action", {"write"}}})}}),
              IsEmpty());
  Rules off{.rules = {rule("a", {"tenant"}), rule("b", {"ip"})}};
  off.rules[1].mode = Mode::off;
  EXPECT_THAT(slot_notes(off), IsEmpty());
}

TEST(SlotNotes, RulesAboutRequestsWithAndWithoutAnAttributeCannotMeet) {
  const Rule anonymous = rule("a", {"ip"}, {{"api_key", {"absent"}}});
  EXPECT_THAT(slot_notes({.rules = {anonymous, rule("b", {"api_key"})}}), IsEmpty());
  EXPECT_THAT(slot_notes({.rules = {rule("b", {"user"}, {{"api_key", {"k*"}}}), anonymous}}), IsEmpty());
  EXPECT_THAT(slot_notes({.rules = {anonymous, rule("b", {"api_key|user"})}}), ElementsAre(HasSubstr("rules a and b")));
}

TEST(SlotNotes, AlternativesShareTheTenantsSlotOnlyWhereTheRequestHasATenant) {
  EXPECT_THAT(slot_notes({.rules = {rule("a", {"tenant"}), rule("b", {"tenant|ip", "user"})}}), IsEmpty());
  EXPECT_THAT(slot_notes({.rules = {rule("a", {"tenant|ip"}), rule("b", {"tenant|ip", "user"})}}),
              ElementsAre(HasSubstr("because not both always count by tenant")));
  EXPECT_THAT(slot_notes({.rules = {rule("a", {"tenant"}), rule("b", {"user|tenant"})}}),
              ElementsAre(HasSubstr("no hash_tag puts them into one slot")));
}

TEST(SlotNotes, AreBounded) {
  Rules rules;
  for (int i = 0; i < 30; ++i) rules.rules.push_back(rule("r" + std::to_string(i), {"ip"}));
  const std::vector<std::string> notes = slot_notes(rules);
  EXPECT_EQ(kMaxSlotNotes + 1, notes.size());
  EXPECT_EQ("and 385 more pairs", notes.back());
}

}  // namespace
}  // namespace weir::rules
