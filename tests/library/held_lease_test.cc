#include "weir/held_lease.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>

#include "tests/support/toy_holds.h"

namespace weir {
namespace {

using http::ToyLeases;
using namespace std::chrono_literals;
using Verb = LeaseQuestion::Verb;

// Waits for what another thread does; long, because a busy machine may be slow.
template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

LeaseAnswer granted_for(const LeaseQuestion& question, Duration ttl) {
  LeaseAnswer answer = ToyLeases::granted(question);
  answer.ttl = ttl;
  return answer;
}

std::size_t count(ToyLeases& leases, const std::string& verb) {
  const std::vector<std::string> asked = leases.asked();
  return static_cast<std::size_t>(
      std::count_if(asked.begin(), asked.end(), [&](const std::string& text) { return text.starts_with(verb); }));
}

const Attribute kAttributes[] = {{"tenant", "acme"}};
LeaseQuestion question() {
  LeaseQuestion question;
  question.request = Request(kAttributes);
  return question;
}

TEST(HeldLease, IsReleasedWithTheObject) {
  ToyLeases leases;
  {
    const HeldLease lease(leases, question());
    EXPECT_TRUE(lease.held());
    EXPECT_EQ(lease.answer().fencing_token, 1'800'000'000'000'000U);
    EXPECT_EQ(count(leases, "release"), 0U);
  }
  EXPECT_EQ(leases.asked().back(), "release handle=toy-lease");
}

TEST(HeldLease, IsReleasedOnce) {
  ToyLeases leases;
  {
    HeldLease lease(leases, question());
    EXPECT_EQ(lease.release().fault, HoldFault::none);
    EXPECT_FALSE(lease.held());
    static_cast<void>(lease.release());
  }
  EXPECT_EQ(count(leases, "release"), 1U);
}

TEST(HeldLease, RenewsItselfWithTheHandleOfTheLastRenewal) {
  ToyLeases leases;
  leases.answer_by([renewals = 0](const LeaseQuestion& asked) mutable {
    LeaseAnswer answer = granted_for(asked, 30ms);
    if (asked.verb == Verb::renew) answer.handle = "renewed-" + std::to_string(++renewals);
    return answer;
  });
  const HeldLease lease(leases, question());
  EXPECT_TRUE(eventually([&] { return count(leases, "renew handle=renewed-2") > 0; }));
  EXPECT_TRUE(lease.held());
}

TEST(HeldLease, ADeniedOneHoldsNothing) {
  ToyLeases leases;
  leases.answer_by(ToyLeases::denied);
  {
    const HeldLease lease(leases, question());
    EXPECT_FALSE(lease.held());
    EXPECT_EQ(lease.answer().decision.retry_after, 700ms);
  }
  EXPECT_EQ(leases.asked().size(), 1U) << "nothing to renew, nothing to release";
}

TEST(HeldLease, SaysOnceThatItIsLost) {
  ToyLeases leases;
  leases.answer_by([](const LeaseQuestion& asked) {
    LeaseAnswer answer = granted_for(asked, 20ms);
    if (asked.verb == Verb::renew) answer.fault = HoldFault::gone;
    return answer;
  });
  std::promise<HoldFault> lost;
  {
    const HeldLease lease(leases, question(), [&](const LeaseAnswer& answer) { lost.set_value(answer.fault); });
    EXPECT_EQ(lost.get_future().get(), HoldFault::gone);
    EXPECT_FALSE(lease.held());
  }
  EXPECT_EQ(count(leases, "release"), 0U) << "what is lost may be someone else's by now";
}

TEST(HeldLease, AStoreThatIsAwayForLessThanTheTtlIsTriedAgain) {
  ToyLeases leases;
  leases.answer_by([failures = 2](const LeaseQuestion& asked) mutable {
    LeaseAnswer answer = granted_for(asked, 1500ms);
    if (asked.verb == Verb::renew && failures-- > 0) answer.fault = HoldFault::unavailable;
    return answer;
  });
  std::optional<HoldFault> lost;
  {
    const HeldLease lease(leases, question(), [&](const LeaseAnswer& answer) { lost = answer.fault; });
    EXPECT_TRUE(eventually([&] { return count(leases, "renew") >= 4; }));
  }
  EXPECT_FALSE(lost);
}

TEST(HeldLease, AStoreThatStaysAwayLosesIt) {
  ToyLeases leases;
  leases.answer_by([](const LeaseQuestion& asked) {
    LeaseAnswer answer = granted_for(asked, 30ms);
    if (asked.verb == Verb::renew) answer.fault = HoldFault::unavailable;
    return answer;
  });
  std::promise<HoldFault> lost;
  const HeldLease lease(leases, question(), [&](const LeaseAnswer& answer) { lost.set_value(answer.fault); });
  EXPECT_EQ(lost.get_future().get(), HoldFault::unavailable);
}

TEST(HeldLease, MayBeReleasedWhenItIsLost) {
  ToyLeases leases;
  leases.answer_by([](const LeaseQuestion& asked) {
    LeaseAnswer answer = granted_for(asked, 20ms);
    if (asked.verb == Verb::renew) answer.fault = HoldFault::gone;
    return answer;
  });
  std::unique_ptr<HeldLease> lease;
  std::promise<void> done;
  std::promise<void> made;
  std::shared_future<void> ready = made.get_future().share();
  lease = std::make_unique<HeldLease>(leases, question(), [&](const LeaseAnswer&) {
    ready.wait();
    static_cast<void>(lease->release());
    done.set_value();
  });
  made.set_value();
  done.get_future().wait();
  EXPECT_FALSE(lease->held());
}

}  // namespace
}  // namespace weir
