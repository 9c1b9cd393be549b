// Identity for the descriptors of one call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/envoy/rls.h"
#include "frontends/envoy/rls_decider.h"
#include "tests/support/request_identity.h"
#include "tests/support/toy_link.h"

namespace weir::envoy {
namespace {

using testing::ElementsAre;
using testing::Pair;

class RlsIdentity : public testing::Test {
 protected:
  RlsIdentity() { request_.domain = "shop"; }

  void add(const std::vector<Attribute>& entries) {
    RlsDescriptor descriptor;
    descriptor.first = request_.attributes.size();
    descriptor.entries = entries.size();
    request_.attributes.emplace_back();
    request_.attributes.insert(request_.attributes.end(), entries.begin(), entries.end());
    request_.descriptors.push_back(descriptor);
    request_.spread_domain();
  }
  std::vector<grpc::ToyLimiter::Asked> asked() {
    grpc::ToyLimiter limiter;
    RlsDecider decider(limiter, {});
    decider.decide(
        request_, [](const Status&, const RlsAnswer&) {}, [] { return [](const Result<RlsAnswer>&) {}; });
    return limiter.asked;
  }

  transport::ToyRequestIdentity identity_;
  RlsRequest request_;
};

TEST_F(RlsIdentity, EachDescriptorIsIdentifiedAndKeepsItsDomain) {
  add({{"ip", "a"}, {"x", "y"}});
  add({});
  add({{"ip", "b"}});
  ASSERT_FALSE(identify(identity_, request_));
  EXPECT_TRUE(request_.check().ok());
  const auto questions = asked();
  ASSERT_EQ(questions.size(), 3U);
  EXPECT_THAT(questions[0].attributes,
              ElementsAre(Pair("domain", "shop"), Pair("ip", "net(a)"), Pair("x", "y"), Pair("made", "yes")));
  EXPECT_THAT(questions[1].attributes, ElementsAre(Pair("domain", "shop"), Pair("made", "yes")));
  EXPECT_THAT(questions[2].attributes, ElementsAre(Pair("domain", "shop"), Pair("ip", "net(b)"), Pair("made", "yes")));
  EXPECT_EQ(request_.attributes_of(request_.descriptors[2]).size(), 2U) << "without what was derived";
}

TEST_F(RlsIdentity, ALimitOfTheDescriptorsOwnCountsByItsEntriesOnly) {
  add({{"ip", "a"}});
  request_.descriptors[0].has_override = true;
  request_.descriptors[0].override_limit = 3;
  request_.descriptors[0].override_unit = 2;
  ASSERT_FALSE(identify(identity_, request_));
  const auto questions = asked();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_THAT(questions[0].subject, ElementsAre("MINUTE", "shop", "ip", "net(a)"));
}

TEST_F(RlsIdentity, ARefusalIsOverLimitForItsDescriptorAndTheCall) {
  add({{"x", "y"}});
  add({{"key", "revoked"}});
  const auto refusal = identify(identity_, request_);
  ASSERT_TRUE(refusal);
  const RlsAnswer answer = refusal_answer(*refusal, request_.descriptors.size());
  EXPECT_TRUE(answer.over_limit);
  ASSERT_EQ(answer.statuses.size(), 2U);
  EXPECT_FALSE(answer.statuses[0].over_limit);
  EXPECT_TRUE(answer.statuses[1].over_limit);
  EXPECT_EQ(answer.weir_status, "403");
}

TEST_F(RlsIdentity, AMalformedDescriptorIsOverLimitToo) {
  add({{"ip", "nowhere"}});
  const auto refusal = identify(identity_, request_);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal_answer(*refusal, 1).weir_status, "400");
}

TEST_F(RlsIdentity, ATokenMayBeInAnyDescriptor) {
  identity_.needs_token = true;
  add({{"x", "y"}});
  const auto refusal = identify(identity_, request_);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal_answer(*refusal, 1).weir_status, "403");
  add({{"token", "t"}});
  EXPECT_FALSE(identify(identity_, request_));
}

TEST_F(RlsIdentity, TheDomainCountsAgainstTheBoundOfAttributes) {
  add(std::vector<Attribute>(kMaxAttributes - 2, {"a", "b"}));
  EXPECT_FALSE(identify(identity_, request_));
  request_.clear();
  request_.domain = "shop";
  add(std::vector<Attribute>(kMaxAttributes - 1, {"a", "b"}));
  const auto refusal = identify(identity_, request_);
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->malformed);
}

TEST_F(RlsIdentity, CallsThatTheServiceRefusesAreLeftToIt) {
  identity_.needs_token = true;
  EXPECT_FALSE(identify(identity_, request_)) << "no descriptor";
  EXPECT_FALSE(request_.check().ok());
  for (std::size_t i = 0; i <= kMaxDescriptors; ++i) add({{"key", "revoked"}});
  EXPECT_FALSE(identify(identity_, request_)) << "too many descriptors";
  EXPECT_FALSE(request_.check().ok());
}

}  // namespace
}  // namespace weir::envoy
