// Keys that are known bring the attributes that they are bound to.
#include "identity/known_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "identity/identity.h"

namespace weir::identity {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Not;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

class ThreeKeys final : public KnownKeys, public KeyDirectory, public std::enable_shared_from_this<ThreeKeys> {
 public:
  std::shared_ptr<const KnownKeys> current() const override { return shared_from_this(); }
  std::optional<KnownKey> find(std::string_view key) const override {
    KnownKey found{.tenant = "acme", .plan = "pro", .attributes = attributes_, .expires = std::nullopt, .use = &mark};
    if (key == "good") return found;
    found.revoked = key == "revoked";
    if (key == "ends") found.expires = kNow + 1s;
    return key == "revoked" || key == "ends" ? std::optional(found) : std::nullopt;
  }
  mutable UseMark mark{"key_1"};

 private:
  const std::vector<std::pair<std::string, std::string>> attributes_ = {{"team", "blue"}};
};

class KnownKeysTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Identity> identity(bool refuse_unknown = false) {
    IdentityOptions options;
    options.attributes = {{"api_key", "header:authorization"}, {"tenant", "gateway:x-tenant"}};
    options.directory = keys_;
    options.refuse_unknown_keys = refuse_unknown;
    options.names.api_key = {"api_key"};
    options.takes_sent = true;
    options.keys.current = {1, 2, 3};
    auto made = Identity::create(options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.failure().message);
    return made.value();
  }
  static std::map<std::string, std::string> texts(std::span<const Attribute> attributes) {
    std::map<std::string, std::string> map;
    for (const Attribute& each : attributes) map[std::string(each.name)] += each.value;
    return map;
  }
  std::optional<Refusal> ask(const Identity& identity, std::string_view authorization, TimePoint now = kNow) {
    const std::vector<HeaderField> headers = {{"authorization", authorization}, {"x-tenant", "other"}};
    Inbound inbound;
    inbound.method = "GET";
    inbound.target = "/";
    inbound.headers = headers;
    auto refusal = identity.identify(inbound, now, caller_);
    attributes_ = texts(caller_.attributes());
    return refusal;
  }
  std::optional<SentRefusal> send(const Identity& identity, std::vector<Attribute> sent) {
    requests_.clear();
    auto refusal = identity.identify_sent(sent, SentPart::request, kNow, requests_);
    attributes_.clear();
    if (!refusal) attributes_ = texts(requests_.attributes(0));
    return refusal;
  }

  std::shared_ptr<ThreeKeys> keys_ = std::make_shared<ThreeKeys>();
  CallerAttributes caller_;
  SentRequests requests_;
  std::map<std::string, std::string> attributes_;
};

TEST_F(KnownKeysTest, AKeyInAHeaderBringsWhatItIsBoundTo) {
  const auto who = identity();
  EXPECT_FALSE(ask(*who, "Bearer good"));
  EXPECT_EQ("acme", attributes_["tenant"]) << "in place of what the gateway says";
  EXPECT_EQ("pro", attributes_["plan"]);
  EXPECT_EQ("blue", attributes_["team"]);
  EXPECT_TRUE(attributes_["api_key"].starts_with("k_"));
  EXPECT_EQ(kNow, keys_->mark.last_used());
}

TEST_F(KnownKeysTest, OthersBringNothingUnlessTheyAreRefused) {
  EXPECT_FALSE(ask(*identity(), "Bearer unknown"));
  EXPECT_EQ("other", attributes_["tenant"]);
  const auto refused = ask(*identity(true), "Bearer unknown");
  ASSERT_TRUE(refused);
  EXPECT_EQ(Refusal::Kind::blocked, refused->kind);
}

TEST_F(KnownKeysTest, RevokedAndExpiredOnesAreRefused) {
  const auto who = identity();
  EXPECT_TRUE(ask(*who, "Bearer revoked"));
  EXPECT_FALSE(ask(*who, "Bearer ends", kNow + 1s - 1us));
  EXPECT_TRUE(ask(*who, "Bearer ends", kNow + 1s));
  EXPECT_TRUE(send(*who, {{"api_key", "revoked"}}));
}

TEST_F(KnownKeysTest, AKeyThatIsSentReplacesWhatElseWasSent) {
  const auto who = identity();
  EXPECT_FALSE(send(*who, {{"api_key", "good"}, {"tenant", "mallory"}, {"team", "red"}, {"action", "search"}}));
  EXPECT_EQ("acme", attributes_["tenant"]);
  EXPECT_EQ("blue", attributes_["team"]);
  EXPECT_EQ("pro", attributes_["plan"]);
  EXPECT_EQ("search", attributes_["action"]);
  EXPECT_FALSE(send(*who, {{"api_key", "unknown"}, {"tenant", "mallory"}, {"plan", "free"}}));
  EXPECT_EQ("free", attributes_["plan"]);
}

}  // namespace
}  // namespace weir::identity
