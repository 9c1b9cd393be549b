#include "rules/compile/shedding_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/compile/rule_set.h"

namespace weir::rules {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using namespace std::chrono_literals;

// A class for reads of the office, one for other reads, one for writes.
Shedding three_classes() {
  Shedding shedding;
  shedding.rate = 1'000;
  shedding.classes = {{"office-read", {{"kind", {"read"}}, {"ip", {"192.0.2.0/24"}}}, 80},
                      {"read", {{"kind", {"read"}}}, 60},
                      {"write", {{"kind", {"write"}}}}};
  return shedding;
}

std::vector<std::string> faults_of(const Shedding& shedding) {
  std::vector<std::string> faults;
  for (const RuleFault& fault : check_shedding(shedding)) faults.push_back(to_string(fault.field) + ": " + fault.what);
  return faults;
}

class SheddingClassesTest : public testing::Test {
 protected:
  // "read of acme": the class and whose share of it.
  std::string place_of(const Shedding& shedding, const std::vector<Attribute>& attributes) {
    Rules rules;
    rules.shedding = shedding;
    RuleNames names;
    const auto set = RuleSet::compile(rules, names);
    EXPECT_TRUE(set.ok());
    if (!set.ok()) return "";
    ResolvedNames resolved;
    const Request request(attributes);
    set.value()->resolve(request, resolved);
    const SheddingClasses::Place place = set.value()->shedding()->place_of({request, resolved.ids, resolved.carried});
    const std::string name = place.number < shedding.classes.size() ? shedding.classes[place.number].name : "none";
    return name + (place.share_of.empty() ? "" : " of " + std::string(place.share_of));
  }
};

TEST_F(SheddingClassesTest, ARequestIsInTheFirstClassAllOfWhoseConditionsHold) {
  const Shedding shedding = three_classes();
  EXPECT_EQ(place_of(shedding, {{"kind", "read"}, {"ip", "192.0.2.7"}}), "office-read");
  EXPECT_EQ(place_of(shedding, {{"kind", "read"}, {"ip", "198.51.100.7"}}), "read");
  EXPECT_EQ(place_of(shedding, {{"kind", "read"}}), "read");
  EXPECT_EQ(place_of(shedding, {{"kind", "write"}, {"ip", "192.0.2.7"}}), "write");
  EXPECT_EQ(place_of(shedding, {{"kind", "other"}}), "none");
  EXPECT_EQ(place_of(shedding, {}), "none");
}

TEST_F(SheddingClassesTest, SharesAreByTheAttributeThatTheyAreFairBy) {
  Shedding shedding = three_classes();
  EXPECT_EQ(place_of(shedding, {{"kind", "write"}, {"tenant", "acme"}, {"user", "u"}}), "write of acme");
  shedding.fair_by = "user";
  EXPECT_EQ(place_of(shedding, {{"kind", "write"}, {"tenant", "acme"}, {"user", "u"}}), "write of u");
}

TEST_F(SheddingClassesTest, OnlyTrustedRequestsNameTheirClass) {
  Shedding shedding = three_classes();
  EXPECT_EQ(place_of(shedding, {{"kind", "read"}, {"priority", "write"}}), "read");
  shedding.trust_priority = std::vector<Condition>{{"caller", {"gateway"}}, {"region", {"eu"}}};
  EXPECT_EQ(place_of(shedding, {{"kind", "read"}, {"priority", "write"}, {"caller", "gateway"}}), "read");
  const std::vector<Attribute> trusted = {{"kind", "read"}, {"caller", "gateway"}, {"region", "eu"}};
  const auto with = [&](std::string_view priority) {
    std::vector<Attribute> attributes = trusted;
    attributes.push_back({"priority", priority});
    return attributes;
  };
  EXPECT_EQ(place_of(shedding, trusted), "read") << "it names none";
  EXPECT_EQ(place_of(shedding, with("write")), "write");
  EXPECT_EQ(place_of(shedding, with("office-read")), "office-read");
  EXPECT_EQ(place_of(shedding, with("unheard-of")), "read");
  shedding.trust_priority = std::vector<Condition>{};
  EXPECT_EQ(place_of(shedding, {{"kind", "read"}, {"priority", "write"}}), "write") << "everyone is trusted";
}

TEST(SheddingCheck, TakesTheBoundsAndNothingBeyondThem) {
  EXPECT_THAT(faults_of(three_classes()), IsEmpty());
  const auto changed = [](auto change) {
    Shedding shedding = three_classes();
    change(shedding);
    return faults_of(shedding);
  };
  using S = Shedding;
  for (const auto& good :
       {+[](S& s) { s.rate = kMaxUnits; }, +[](S& s) { s.rate = 0, s.in_flight = 1; },
        +[](S& s) { s.in_flight = kMaxInFlight; }, +[](S& s) { s.rate_window = 1ms; },
        +[](S& s) { s.rate_window = 1h; }, +[](S& s) { s.rate = 0, s.in_flight = 1, s.rate_window = 2h; },
        +[](S& s) { s.classes[0].shed_at = 1; }, +[](S& s) { s.classes[0].shed_at = 100; },
        +[](S& s) { s.classes[2].match.clear(); }, +[](S& s) { s.classes[0].name = std::string(64, 'x'); }}) {
    EXPECT_THAT(changed(good), IsEmpty());
  }
  const std::pair<void (*)(S&), const char*> kBad[] = {
      {[](S& s) { s.rate = 0; }, "capacity: has neither rate nor in_flight"},
      {[](S& s) { s.rate = kMaxUnits + 1; }, "capacity.rate: is 1000000000001"},
      {[](S& s) { s.rate = -1; }, "capacity.rate: is -1"},
      {[](S& s) { s.in_flight = kMaxInFlight + 1; }, "capacity.in_flight: is 100001"},
      {[](S& s) { s.rate_window = 1h + Duration{1}; }, "capacity.rate: is for 3600000001 us"},
      {[](S& s) { s.rate_window = 1ms - Duration{1}; }, "capacity.rate: is for 999 us"},
      {[](S& s) { s.classes.clear(); }, "classes: has no class"},
      {[](S& s) { s.classes[0].shed_at = 0; }, "classes[0].shed_at: is 0"},
      {[](S& s) { s.classes[0].shed_at = 101; }, "classes[0].shed_at: is 101"},
      {[](S& s) { s.classes[1].name = ""; }, "classes[1].name: is "},
      {[](S& s) { s.classes[1].name = "a b"; }, "expected 1 to 64 of A-Z a-z 0-9 . _ -"},
      {[](S& s) { s.classes[2].name = "read"; }, "classes[2].name: is \"read\", which is the name of an earlier class"},
      {[](S& s) { s.classes[1].match.clear(); }, "classes[2]: is after a class without match"},
      {[](S& s) {
         s.classes[1].match = {{"", {"x"}}};
       },
       "classes[1].match"},
      {[](S& s) { s.fair_by = ""; }, "fair_by"},
      {[](S& s) {
         s.trust_priority = std::vector<Condition>{{"", {"x"}}};
       },
       "trust_priority"},
  };
  for (const auto& [change, why] : kBad) EXPECT_THAT(changed(change), ElementsAre(HasSubstr(why))) << why;
  const auto with_classes = [&](std::size_t count) {
    return changed([count](S& s) {
      s.classes.clear();
      for (std::size_t i = 0; i < count; ++i) s.classes.push_back({"c" + std::to_string(i), {{"kind", {"k"}}}});
    });
  };
  EXPECT_THAT(with_classes(kMaxSheddingClasses), IsEmpty());
  EXPECT_THAT(with_classes(kMaxSheddingClasses + 1), ElementsAre(HasSubstr("has 17 classes, expected at most 16")));
}

TEST(SheddingCheck, ARequestTakesItsShareOfTheRate) {
  const auto request_ns = [](std::int64_t rate, Duration window) {
    Shedding shedding = three_classes();
    shedding.rate = rate;
    shedding.in_flight = 1;
    shedding.rate_window = window;
    NameTable names;
    return SheddingClasses(shedding, names).request_ns();
  };
  EXPECT_EQ(request_ns(0, 1s), 0);
  EXPECT_EQ(request_ns(1'000, 1s), 1'000'000);
  EXPECT_EQ(request_ns(3, 1s), 333'333'333);
  EXPECT_EQ(request_ns(1'000, 60s), 60'000'000);
  EXPECT_EQ(request_ns(kMaxUnits, 1s), 1) << "never less";
}

}  // namespace
}  // namespace weir::rules
