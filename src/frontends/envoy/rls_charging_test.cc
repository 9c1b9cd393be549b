// What a call with several descriptors charges when one of them is over its limit: the others (each), or none
// (all or none). On a real engine, with counts kept by hand beside it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "engine/engine.h"
#include "frontends/envoy/rls_decider.h"
#include "stores/memory/memory_store.h"

namespace weir::envoy {
namespace {

using namespace std::chrono_literals;

// A memory store that claims to answer later.
class LaterStore final : public Store {
 public:
  bool begin(StoreCall& call) override { return memory_.begin(call); }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "later"; }

 private:
  memory::MemoryStore memory_;
};

Rule rule_of(const char* key, std::int64_t limit) {
  Rule rule;
  rule.id = key;
  rule.per = {key};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  rule.count_denied = true;  // as rules from files of envoyproxy/ratelimit
  return rule;
}

class Service {
 public:
  Service(bool all_or_none, bool immediate, const std::vector<Rule>& rules) {
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = rules}).ok());
    LimiterOptions options;
    options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{});
    if (!immediate) options.store = std::make_shared<LaterStore>();
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1};
    engine = std::make_unique<engine::Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
    RlsOptions rls;
    rls.all_or_none = all_or_none;
    decider = std::make_unique<RlsDecider>(*engine, rls);
  }

  // "OK" or "OVER" for each descriptor, and what is left.
  std::string ask(RlsRequest& request) {
    RlsAnswer answer;
    EXPECT_TRUE(request.check().ok());
    int answers = 0;
    decider->decide(
        request,
        [&](const Status& status, const RlsAnswer& made) {
          ++answers;
          EXPECT_TRUE(status.ok());
          answer = made;
        },
        [&] {
          return [&](const Result<RlsAnswer>& made) {
            ++answers;
            answer = made.value();
          };
        });
    EXPECT_EQ(answers, 1);
    std::string text = answer.over_limit ? "OVER:" : "OK:";
    for (const RlsStatus& status : answer.statuses) {
      text += (status.over_limit ? " over " : " ok ") + std::to_string(status.remaining);
    }
    return text;
  }

  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<RlsDecider> decider;
};

struct Call {
  RlsRequest request;

  Call() { request.domain = "edge"; }
  RlsDescriptor& add(std::string_view key, std::string_view value, std::uint64_t hits = 1) {
    RlsDescriptor descriptor;
    descriptor.first = request.attributes.size();
    descriptor.entries = 1;
    descriptor.has_hits = true;
    descriptor.hits = hits;
    request.attributes.push_back({});
    request.attributes.push_back({key, value});
    request.descriptors.push_back(descriptor);
    request.spread_domain();
    return request.descriptors.back();
  }
  void set_override(std::uint32_t limit) {
    request.descriptors.back().has_override = true;
    request.descriptors.back().override_limit = limit;
    request.descriptors.back().override_unit = static_cast<std::int32_t>(RlsUnit::hour);
  }
};

class Charging : public ::testing::TestWithParam<bool> {
 protected:
  std::string user_and_path(Service& service, std::uint64_t hits = 1) {
    Call call;
    call.add("user", "ann", hits);
    call.add("path", "/");
    return service.ask(call.request);
  }
  const std::vector<Rule> rules_ = {rule_of("user", 2), rule_of("path", 100)};
};

TEST_P(Charging, EachDescriptorIsChargedOnItsOwn) {
  Service service(false, GetParam(), rules_);
  EXPECT_EQ(user_and_path(service), "OK: ok 1 ok 99");
  EXPECT_EQ(user_and_path(service), "OK: ok 0 ok 98");
  EXPECT_EQ(user_and_path(service), "OVER: over 0 ok 97");
  EXPECT_EQ(user_and_path(service), "OVER: over 0 ok 96");
}

TEST_P(Charging, AllOrNoneChargesNoneOfTheOthers) {
  Service service(true, GetParam(), rules_);
  EXPECT_EQ(user_and_path(service), "OK: ok 1 ok 99");
  EXPECT_EQ(user_and_path(service, 2), "OVER: over 0 ok 99") << "the one that is over uses up what is left";
  EXPECT_EQ(user_and_path(service), "OVER: over 0 ok 99");
}

TEST_P(Charging, AnOverrideIsPartOfTheDecision) {
  Service service(true, GetParam(), rules_);
  const auto ask = [&](std::uint32_t limit) {
    Call call;
    call.add("path", "/");
    call.add("other", "x");
    call.set_override(limit);
    call.add("user", "ann");
    return service.ask(call.request);
  };
  EXPECT_EQ(ask(1), "OK: ok 99 ok 0 ok 1");
  EXPECT_EQ(ask(1), "OVER: ok 99 over 0 ok 1");
  EXPECT_EQ(ask(0), "OVER: ok 99 over 0 ok 1") << "a limit of nothing is always over";
  EXPECT_EQ(ask(2), "OK: ok 98 ok 0 ok 0") << "and has used up nothing of the bucket";
  const auto fresh = [&](std::uint32_t limit) {
    Call call;
    call.add("other", "fresh");
    call.set_override(limit);
    call.add("path", "/");
    return service.ask(call.request);
  };
  EXPECT_EQ(fresh(0), "OVER: over 0 ok 98");
  EXPECT_EQ(fresh(2), "OK: ok 1 ok 97") << "also of a bucket that is new";
}

// An override has no failure policy: the gateway's own decides.
TEST(ChargingWithoutStore, AnOverrideThatCannotBeChargedIsAFailure) {
  class FailingStore final : public Store {
   public:
    bool begin(StoreCall& call) override {
      call.status = Code::unavailable;
      return true;
    }
    bool immediate() const override { return true; }
    std::string_view name() const override { return "failing"; }
  };
  auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {rule_of("user", 2)}}).ok());
  LimiterOptions options;
  options.store = std::make_shared<FailingStore>();
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1};
  engine::Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  RlsOptions rls;
  rls.all_or_none = true;
  RlsDecider decider(engine, rls);
  Call call;
  call.add("user", "ann");
  call.add("other", "x");
  call.set_override(5);
  int answers = 0;
  decider.decide(
      call.request,
      [&](const Status& status, const RlsAnswer&) {
        ++answers;
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.failure().code, Code::unavailable);
      },
      [] { return [](const Result<RlsAnswer>&) { FAIL(); }; });
  EXPECT_EQ(answers, 1);
}

TEST_P(Charging, LooksAndRefundsAreDecidedOnTheirOwn) {
  Service service(true, GetParam(), rules_);
  EXPECT_EQ(user_and_path(service), "OK: ok 1 ok 99");
  Call look;
  look.add("user", "ann", 0);
  look.add("path", "/");
  look.add("path", "/x");
  EXPECT_EQ(service.ask(look.request), "OK: ok 1 ok 98 ok 99");
  Call back;
  back.add("user", "ann").negative = true;
  back.add("path", "/", 200);
  back.add("path", "/y");
  EXPECT_EQ(service.ask(back.request), "OVER: ok 2 over 0 ok 100");
}

// As a rule with a descriptor from a file of envoyproxy/ratelimit.
Rule descriptor_rule(const char* key, std::int64_t limit) {
  Rule rule = rule_of(key, limit);
  rule.descriptor = {{.key = "domain", .value = "edge"}, {.key = key}};
  return rule;
}

TEST_P(Charging, AReplacedDescriptorIsOkAndCountsForNothing) {
  Rule special = descriptor_rule("special", 100);
  special.replaces = {"user"};
  for (const bool all_or_none : {false, true}) {
    Service service(all_or_none, GetParam(), {descriptor_rule("user", 5), descriptor_rule("path", 100), special});
    Call call;
    call.add("user", "ann", 50);
    call.add("path", "/");
    call.add("special", "x");
    EXPECT_EQ(service.ask(call.request), "OK: ok 0 ok 99 ok 99");
    Call alone;
    alone.add("user", "ann");
    EXPECT_EQ(service.ask(alone.request), "OK: ok 4") << "nothing was counted before";
    Call with_override;
    with_override.add("user", "ann");
    with_override.set_override(1);
    with_override.add("special", "x");
    EXPECT_EQ(service.ask(with_override.request), "OK: ok 0 ok 98") << "a limit of the caller's own is not replaced";
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, Charging, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "AtOnce" : "Later"; });

// Random calls, against what envoyproxy/ratelimit does with its setting off and on: a descriptor is over if its hits do
// not fit; those that are over use up what is left; the others are charged, or (all or none) not.
RC_GTEST_PROP(ChargingModel, AgreesWithCountsKeptByHand, ()) {
  const bool all_or_none = *rc::gen::arbitrary<bool>();
  constexpr std::int64_t kLimit = 6;
  Service service(all_or_none, *rc::gen::arbitrary<bool>(), {rule_of("user", kLimit)});
  const std::vector<std::string> users = {"a", "b", "c", "d"};
  std::map<std::string, std::int64_t> used;
  for (int calls = 0; calls < 10; ++calls) {
    Call call;
    std::vector<std::pair<std::string, std::int64_t>> asked;
    for (const std::string& user : users) {
      if (*rc::gen::arbitrary<bool>()) continue;
      asked.emplace_back(user, *rc::gen::inRange<std::int64_t>(1, 5));
      call.add("user", user, static_cast<std::uint64_t>(asked.back().second));
    }
    if (asked.empty()) continue;
    const auto fits = [&](const auto& each) { return used[each.first] + each.second <= kLimit; };
    const bool over = !std::all_of(asked.begin(), asked.end(), fits);
    std::string expected = over ? "OVER:" : "OK:";
    for (const auto& each : asked) {
      const bool fitting = fits(each);
      if (!fitting) used[each.first] = kLimit;
      if (fitting && !(over && all_or_none)) used[each.first] += each.second;
      expected += (fitting ? " ok " : " over ") + std::to_string(kLimit - used[each.first]);
    }
    RC_ASSERT(service.ask(call.request) == expected);
  }
}

}  // namespace
}  // namespace weir::envoy
