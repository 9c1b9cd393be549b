#include "frontends/transport/request_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/request_identity.h"

namespace weir::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The requests' first values.
std::vector<std::string> values(const std::vector<Request>& requests) {
  std::vector<std::string> all;
  for (const Request& each : requests) all.emplace_back(each.attributes.front().value);
  return all;
}

// 'b' for the decisions on refused requests, else the cost.
std::string in_order(std::size_t decided, std::vector<std::size_t> refused) {
  std::vector<Decision> decisions(decided);
  for (std::size_t i = 0; i < decided; ++i) decisions[i].cost = static_cast<std::int64_t>(i);
  std::string all;
  each_in_order(decisions, refused, [&](const Decision& decision) {
    all += decision.reason == Reason::blocked ? "b" : std::to_string(decision.cost);
  });
  return all;
}

TEST(RequestIdentity, RefusedRequestsAreTakenOutAndTheirPlacesKnown) {
  const Attribute good[] = {{"ip", "a"}};
  const Attribute revoked[] = {{"key", "revoked"}};
  std::vector<Request> requests = {Request(revoked), Request(good, Cost{5}), Request(revoked), Request(good)};
  std::vector<std::size_t> refused = {99};
  ToyRequestIdentity identity;
  EXPECT_FALSE(identify(identity, requests, refused));
  EXPECT_THAT(refused, ElementsAre(0, 2));
  EXPECT_THAT(values(requests), ElementsAre("net(a)", "net(a)"));
  EXPECT_EQ(requests[0].cost.units, 5);
  EXPECT_EQ(requests[0].derived, 1U);
  EXPECT_EQ(requests[0].sent().size(), 1U);
}

TEST(RequestIdentity, AMalformedRequestIsNamedByItsPlace) {
  const Attribute good[] = {{"ip", "a"}};
  const Attribute malformed[] = {{"ip", "nowhere"}};
  std::vector<Request> requests = {Request(good), Request(malformed)};
  std::vector<std::size_t> refused;
  ToyRequestIdentity identity;
  const auto fault = identify(identity, requests, refused);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->index, 1U);
  EXPECT_THAT(values(requests), ElementsAre("a", "nowhere")) << "as they were";
}

TEST(RequestIdentity, DecisionsComeInTheOrderOfTheRequests) {
  EXPECT_EQ(in_order(3, {}), "012");
  EXPECT_EQ(in_order(2, {0, 2, 3, 5}), "b0bb1b");
  EXPECT_EQ(in_order(0, {0, 1}), "bb");
  EXPECT_EQ(in_order(1, {1}), "0b");
  EXPECT_EQ(in_order(0, {}), "");
}

TEST(RequestIdentity, AMessageHasTheNameAtABoundedLength) {
  EXPECT_EQ((RequestRefusal{true, "ip", "is wrong"}.message("requests[1]", ".attributes.")),
            "requests[1].attributes.ip: is wrong");
  EXPECT_EQ((RequestRefusal{true, {}, "is wrong"}.message("requests[1]", ".attributes.")), "requests[1]: is wrong");
  EXPECT_EQ((RequestRefusal{true, {}, "is wrong"}.message("", "attributes.")), "is wrong");
  const std::string name(63, 'x');
  EXPECT_EQ((RequestRefusal{true, name + "ééé", "is wrong"}.message("", "")), name + "é…: is wrong");
}

}  // namespace
}  // namespace weir::transport
