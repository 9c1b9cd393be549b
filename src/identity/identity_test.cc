#include "identity/identity.h"

#include <gtest/gtest.h>

#include "tests/support/identity.h"
#include "tests/support/scratch_file.h"
#include "tests/support/token_maker.h"

namespace weir::identity {
namespace {

const std::string& kSecret = kTestSecret;
const TimePoint kNow = kTestNow;

std::shared_ptr<const Identity> make(const IdentityOptions& options) { return make_identity(options); }

TEST(Identity, MakesAddressTiersMethodPathAndAction) {
  IdentityOptions options;
  options.trusted_proxies = {"10.0.0.0/8"};
  options.tiers = {{"ip_subnet", 24, 48}, {"ip_region", 16, 32}};
  options.routes = {{"GET", "/v1/items/{id}", "item.read", 3}};
  options.attributes = {{"item", "path:id"}};
  const auto identity = make(options);
  const Asked v4 = ask(identity, {{"X-Forwarded-For", "1.1.1.1, 203.0.113.9"}}, "10.0.0.1");
  ASSERT_FALSE(v4.refusal);
  EXPECT_EQ(v4["ip"], "203.0.113.9");
  EXPECT_EQ(v4["ip_subnet"], "203.0.113.0/24");
  EXPECT_EQ(v4["ip_region"], "203.0.0.0/16");
  EXPECT_EQ(v4["method"], "GET");
  EXPECT_EQ(v4["path"], "/v1/items/7");
  EXPECT_EQ(v4["action"], "item.read");
  EXPECT_EQ(v4["item"], "7");
  EXPECT_EQ(v4.caller.cost().units, 3);
  const Asked v6 = ask(identity, {{"x-forwarded-for", "1.1.1.1"}}, "2001:db8:1:2:3::4", "/other");
  EXPECT_EQ(v6["ip"], "2001:db8:1:2::");
  EXPECT_EQ(v6["ip_subnet"], "2001:db8:1::/48");
  EXPECT_EQ(v6["action"], "-");
  EXPECT_EQ(v6.caller.cost().units, 1);
}

TEST(Identity, AUnixSocketIsTrustedOnlyIfSaid) {
  IdentityOptions options;
  EXPECT_EQ(ask(make(options), {{"x-forwarded-for", "203.0.113.9"}}, nullptr)["ip"], "203.0.113.9");
  EXPECT_EQ(ask(make(options), {}, nullptr)["ip"], "-");
  options.trust_unix_sockets = false;
  EXPECT_EQ(ask(make(options), {{"x-forwarded-for", "203.0.113.9"}}, nullptr)["ip"], "-");
}

TEST(Identity, ReadsHeadersCookiesAndQueries) {
  IdentityOptions options;
  options.attributes = {{"client", "header:X-Client"}, {"session", "cookie:sid"}, {"app", "query:app id"}};
  const auto identity = make(options);
  const Asked asked = ask(identity, {{"x-client", " cli/1 "}, {"Cookie", "a=1; sid=one=1"}, {"cookie", "b=two"}},
                          "203.0.113.9", "/x?b=2&app+id=a%26b%20c&c");
  ASSERT_FALSE(asked.refusal);
  EXPECT_EQ(asked["client"], "cli/1");
  EXPECT_EQ(asked["session"], "one=1");
  EXPECT_EQ(asked["app"], "a&b c");
  const Asked none = ask(identity, {{"x-client", ""}, {"cookie", "xsid=1; sid"}}, "203.0.113.9", "/x?application=1");
  ASSERT_FALSE(none.refusal);
  EXPECT_EQ(none["client"], "-");
  EXPECT_EQ(none["session"], "-");
  EXPECT_EQ(none["app"], "-");
}

TEST(Identity, RefusesWhatTwoServersCouldReadDifferently) {
  IdentityOptions options;
  options.attributes = {{"client", "header:x-client"}, {"app", "query:app"}};
  const auto identity = make(options);
  EXPECT_EQ(ask(identity, {{"x-client", "a"}, {"X-CLIENT", "b"}}).cause(), "repeated_field");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/x?app=1&app=2").cause(), "repeated_field");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/x?app=1&%61pp=2").cause(), "repeated_field");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/x?app=%zz").cause(), "query");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/x?app=a%00b").cause(), "query");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/x/%2e%2e/y").cause(), "path");
  EXPECT_EQ(ask(identity, {{"x-client", std::string_view("a\0b", 3)}}).cause(), "malformed_field");
  const std::string giant(kMaxAttributeValue + 1, 'x');
  const Asked asked = ask(identity, {{"x-client", giant}});
  EXPECT_EQ(asked.cause(), "attribute");
  EXPECT_EQ(asked.refusal->kind, Refusal::Kind::malformed);
  EXPECT_TRUE(asked.caller.attributes().empty()) << "nothing half-made is left to be used";
}

// One that is left out would take the request out of the rules that count by it, or by those behind it.
TEST(Identity, RefusesARequestOfWhichAnAttributeOfItsOwnCannotBeKept) {
  IdentityOptions options;
  options.routes = {{"GET", "/files/{name}", "file.read", 1}};
  const auto identity = make(options);
  const std::string longest = "/" + std::string(kMaxAttributeValue - 1, 'x');
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", longest)["path"], longest);
  for (const std::string& target : {longest + "x", "/files/" + longest}) {
    const Asked asked = ask(identity, {}, "203.0.113.9", target);
    EXPECT_EQ(asked.cause(), "attribute");
    EXPECT_TRUE(asked.caller.attributes().empty());
  }
}

TEST(Identity, AGatewaysDescriptionCountsOnlyIfItIsTrusted) {
  IdentityOptions options;
  options.trusted_proxies = {"10.0.0.0/8"};
  options.routes = {{"POST", "/login", "login", 5}};
  const auto identity = make(options);
  const std::vector<HeaderField> headers = {{"X-Forwarded-Method", "POST"},
                                            {"X-Forwarded-Uri", "/login?x=1"},
                                            {"X-Forwarded-Host", "Shop.Example:443"},
                                            {"X-Forwarded-Proto", "HTTPS"},
                                            {"X-Forwarded-For", "203.0.113.9"}};
  const auto asked_by = [&](const char* peer) {
    Asked asked;
    const Inbound inbound{"GET", "/v1/forward-auth", headers, base::parse_ip(peer), "weir:8080"};
    asked.refusal = identity->identify_forwarded(inbound, kNow, asked.caller);
    EXPECT_FALSE(asked.refusal);
    return asked;
  };
  const Asked believed = asked_by("10.1.2.3");
  EXPECT_EQ(believed["method"], "POST");
  EXPECT_EQ(believed["path"], "/login");
  EXPECT_EQ(believed["host"], "shop.example");
  EXPECT_EQ(believed["scheme"], "https");
  EXPECT_EQ(believed["ip"], "203.0.113.9");
  EXPECT_EQ(believed["action"], "login");
  EXPECT_EQ(believed.caller.cost().units, 5);
  const Asked stranger = asked_by("198.51.100.7");
  EXPECT_EQ(stranger["method"], "GET");
  EXPECT_EQ(stranger["path"], "/v1/forward-auth");
  EXPECT_EQ(stranger["host"], "weir");
  EXPECT_EQ(stranger["scheme"], "-");
  EXPECT_EQ(stranger["ip"], "198.51.100.7");
  EXPECT_EQ(stranger["action"], "-");
}

TEST(Identity, ARealIpIsAListOfOne) {
  IdentityOptions options;
  options.trusted_proxies = {"10.0.0.0/8"};
  options.forwarding_header = ForwardingHeader::x_real_ip;
  const auto identity = make(options);
  EXPECT_EQ(ask(identity, {{"X-Real-IP", "203.0.113.9"}, {"X-Forwarded-For", "1.1.1.1"}}, "10.0.0.1")["ip"],
            "203.0.113.9");
  EXPECT_EQ(ask(identity, {{"X-Real-IP", "203.0.113.9"}}, "192.0.2.1")["ip"], "192.0.2.1");
}

TEST(Identity, DuringARotationAHashedValueAlsoComesAsThePreviousKeyMadeIt) {
  IdentityOptions options;
  options.keys.current[0] = 2;
  options.keys.previous.emplace();
  (*options.keys.previous)[0] = 1;
  options.attributes = {{"api_key", "header:x-api-key"}, {"client", "header:x-client"}};
  const auto identity = make(options);
  const Asked asked = ask(identity, {{"x-api-key", "sk"}, {"x-client", "c"}});
  keys::KeyRing before;
  before.current[0] = 1;
  EXPECT_EQ(asked["api_key"], ApiKeys::text(ApiKeys(options.keys).hash("sk")));
  EXPECT_EQ(asked["api_key@previous"], ApiKeys::text(ApiKeys(before).hash("sk")));
  EXPECT_EQ(asked["client"], "c");
  EXPECT_EQ(asked["client@previous"], "-");
  options.attributes = {{"user@previous", "header:x-user"}};
  EXPECT_FALSE(Identity::create(options).ok()) << "a caller must not choose what was counted before";
}

// The key itself is nowhere to be seen.
TEST(Identity, HashesApiKeysAndBlocksRevokedOnes) {
  const ScratchFile revoked("sk_leaked\n");
  IdentityOptions options;
  options.keys.current[0] = 1;
  options.attributes = {{"api_key", "header:x-api-key"}, {"session", "cookie:sid"}};
  options.hashed = {"session"};
  options.revoked_keys_file = revoked.path();
  auto identity = make(options);
  const Asked asked = ask(identity, {{"x-api-key", "sk_good"}, {"cookie", "sid=s3cret"}});
  ASSERT_FALSE(asked.refusal);
  EXPECT_EQ(asked["api_key"], ApiKeys::text(ApiKeys(options.keys).hash("sk_good")));
  EXPECT_EQ(asked["session"], ApiKeys::text(ApiKeys(options.keys).hash("s3cret")));
  for (const Attribute& attribute : asked.caller.attributes()) {
    EXPECT_EQ(attribute.value.find("good"), std::string_view::npos);
  }
  const Asked blocked = ask(identity, {{"x-api-key", "sk_leaked"}});
  ASSERT_TRUE(blocked.refusal);
  EXPECT_EQ(blocked.refusal->kind, Refusal::Kind::blocked);
  EXPECT_EQ(blocked.refusal->text.find("sk_"), std::string_view::npos);
  EXPECT_EQ(ask(identity, {{"x-api-key", std::string_view("sk_leaked ")}}).cause(), "revoked_key");
  const std::string giant(ApiKeys::kMaxKeyBytes + 1, 'x');
  EXPECT_EQ(ask(identity, {{"x-api-key", giant}}).cause(), "key_too_long");

  revoked.write("sk_good\n");
  EXPECT_FALSE(ask(identity, {{"x-api-key", "sk_good"}}).refusal) << "until it is reloaded";
  identity = identity->reloaded().value();
  EXPECT_TRUE(ask(identity, {{"x-api-key", "sk_good"}}).refusal);
  EXPECT_FALSE(ask(identity, {{"x-api-key", "sk_leaked"}}).refusal);
  std::filesystem::remove(revoked.path());
  EXPECT_FALSE(identity->reloaded().ok());
  EXPECT_TRUE(ask(identity, {{"x-api-key", "sk_good"}}).refusal) << "a failed reload changes nothing";
}

class IdentityWithTokens : public testing::Test {
 protected:
  IdentityWithTokens() {
    options_.jwt.emplace();
    options_.jwt->secret_file = secret_.path();
    options_.attributes = {{"tenant", "jwt:org.id"}, {"user", "jwt:sub"}};
  }
  static std::string bearer(const std::string& payload, const std::string& secret = kSecret) {
    return "Bearer " + hs256_token(secret, payload);
  }

  ScratchFile secret_{kSecret};
  IdentityOptions options_;
};

TEST_F(IdentityWithTokens, ClaimsBecomeAttributes) {
  const auto identity = make(options_);
  const std::string good = bearer(R"({"sub":"alice","org":{"id":42},"exp":1800000100})");
  const Asked asked = ask(identity, {{"Authorization", good}});
  ASSERT_FALSE(asked.refusal);
  EXPECT_EQ(asked["tenant"], "42");
  EXPECT_EQ(asked["user"], "alice");
  const Asked nobody = ask(identity, {});
  ASSERT_FALSE(nobody.refusal);
  EXPECT_EQ(nobody["tenant"], "-");
  EXPECT_FALSE(ask(identity, {{"authorization", "Basic YTpi"}}).refusal);
}

// Whatever was wrong, the caller hears the same.
TEST_F(IdentityWithTokens, BadTokensAreRefusedAndTheTextTellsNothing) {
  const auto identity = make(options_);
  const std::string expired = bearer(R"({"sub":"alice","exp":1})");
  const std::string forged = bearer(R"({"sub":"alice","exp":1800000100})", "another secret of thirty-two byte");
  const std::string good = bearer(R"({"sub":"alice","exp":1800000100})");
  const Asked a = ask(identity, {{"authorization", expired}});
  const Asked b = ask(identity, {{"authorization", forged}});
  const Asked c = ask(identity, {{"authorization", good}, {"authorization", good}});
  ASSERT_TRUE(a.refusal && b.refusal && c.refusal);
  EXPECT_EQ(a.cause(), "expired");
  EXPECT_EQ(b.cause(), "bad_signature");
  EXPECT_EQ(c.cause(), "repeated_field");
  EXPECT_EQ(a.refusal->kind, Refusal::Kind::unauthenticated);
  EXPECT_EQ(a.refusal->text, b.refusal->text);
  EXPECT_EQ(c.refusal->kind, Refusal::Kind::malformed);
  EXPECT_EQ(ask(identity, {{"authorization", "Bearer x"}}).cause(), "malformed");
  options_.jwt_required = true;
  EXPECT_EQ(ask(make(options_), {}).cause(), "no_token");
  EXPECT_EQ(ask(make(options_), {{"authorization", "Basic YTpi"}}).cause(), "no_token");
  EXPECT_FALSE(ask(make(options_), {{"authorization", good}}).refusal);
}

TEST_F(IdentityWithTokens, ATokenMayComeBareInAHeaderOfItsOwn) {
  options_.jwt_header = "x-token";
  const std::string token = hs256_token(kSecret, R"({"sub":"alice","exp":1800000100})");
  EXPECT_EQ(ask(make(options_), {{"X-Token", token}})["user"], "alice");
}

TEST(Identity, NothingUnverifiedBecomesATenant) {
  for (const char* source : {"header:x-tenant", "cookie:tenant", "query:tenant", "path:tenant"}) {
    IdentityOptions options;
    options.routes = {{"GET", "/{tenant}/items", "items", 1}};
    options.attributes = {{"tenant", source}};
    const auto refused = Identity::create(options);
    ASSERT_FALSE(refused.ok()) << source;
    EXPECT_EQ(refused.failure().code, Code::invalid_argument);
    options.accept_unverified = {"tenant"};
    EXPECT_TRUE(Identity::create(options).ok()) << source;
    options.attributes = {{"plan", source}};
    EXPECT_FALSE(Identity::create(options).ok()) << source;
  }
}

TEST(Identity, AGatewaysHeaderCountsOnlyFromTheGateway) {
  IdentityOptions options;
  options.trusted_proxies = {"10.0.0.1"};
  options.attributes = {{"tenant", "gateway:x-tenant"}};
  const auto identity = make(options);
  EXPECT_EQ(ask(identity, {{"x-tenant", "acme"}}, "10.0.0.1")["tenant"], "acme");
  EXPECT_EQ(ask(identity, {{"x-tenant", "acme"}}, "10.0.0.2")["tenant"], "-");
  EXPECT_EQ(ask(identity, {{"x-tenant", "evil"}, {"x-tenant", "acme"}}, "10.0.0.1").cause(), "repeated_field");
}

// A mark counts where it comes from inside, whatever proxy passed it on.
// HAProxy's arguments: trusted for every client, and no header of the client is added or used instead.
TEST(Identity, WhatAGatewaySaysItselfReplacesTheHeaderOfItsName) {
  IdentityOptions options;
  options.trusted_proxies = {"10.0.0.0/8"};
  options.attributes = {{"tenant", "gateway:x-tenant"}, {"client", "header:x-client"}};
  const auto identity = make(options);
  EXPECT_TRUE(identity->asks_gateway_for("X-Tenant"));
  EXPECT_FALSE(identity->asks_gateway_for("x-client"));
  const std::vector<HeaderField> headers = {{"X-Tenant", "forged"}, {"X-Client", "app"}};
  const auto with = [&](std::vector<HeaderField> said, const char* peer) {
    Asked asked;
    Inbound inbound{"GET", "/", headers, base::parse_ip(peer)};
    inbound.gateway_fields = said;
    asked.refusal = identity->identify(inbound, kNow, asked.caller);
    return asked;
  };
  for (const char* peer : {"203.0.113.9", "10.0.0.1"}) {
    EXPECT_EQ(with({{"x-tenant", "acme"}}, peer)["tenant"], "acme");
    EXPECT_EQ(with({{"x-tenant", ""}}, peer)["tenant"], "-") << "it said that there is none";
    EXPECT_EQ(with({{"x-client", "other"}}, peer)["client"], "app") << "not asked for";
    EXPECT_EQ(with({{"x-tenant", "a"}, {"x-tenant", "b"}}, peer).cause(), "repeated_field");
  }
  EXPECT_EQ(with({}, "203.0.113.9")["tenant"], "-");
  EXPECT_EQ(with({}, "10.0.0.1")["tenant"], "forged") << "a trusted proxy's header, as ever";
}

TEST(Identity, ATargetMayBeAWholeUrlAndAMethodIsAToken) {
  const auto identity = make({});
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "https://shop.example/v1/%61?x=/y")["path"], "/v1/a");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "*", "OPTIONS")["path"], "*");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "shop.example:443", "CONNECT").cause(), "path");
  EXPECT_EQ(ask(identity, {}, "203.0.113.9", "/", "GET /").cause(), "method_or_scheme");
  CallerAttributes caller;
  Inbound inbound{"GET", "/", {}, base::parse_ip("203.0.113.9")};
  inbound.scheme = "ht tp";
  EXPECT_TRUE(identity->identify(inbound, kNow, caller));
}

TEST(Identity, MarksOnlyItsOwnTraffic) {
  IdentityOptions options;
  options.trusted_proxies = {"10.0.0.1"};
  options.internal_networks = {"10.0.0.0/8"};
  options.marks = {{"x-test-run", "", "test"}, {"x-internal", "1", "internal"}};
  const auto identity = make(options);
  EXPECT_EQ(ask(identity, {{"x-internal", "1"}}, "10.2.0.1")["traffic"], "internal");
  EXPECT_EQ(ask(identity, {{"X-Test-Run", "nightly"}, {"x-internal", "1"}}, "10.2.0.1")["traffic"], "test");
  EXPECT_EQ(ask(identity, {{"x-internal", "0"}}, "10.2.0.1")["traffic"], "external");
  EXPECT_EQ(ask(identity, {}, "10.2.0.1")["traffic"], "external");
  EXPECT_EQ(ask(identity, {{"x-internal", "1"}}, "203.0.113.9")["traffic"], "external");
  EXPECT_EQ(ask(identity, {{"x-internal", "1"}, {"x-forwarded-for", "203.0.113.9"}}, "10.0.0.1")["traffic"], "external")
      << "a client's header passed on by a trusted proxy is still the client's";
  EXPECT_EQ(ask(identity, {{"x-internal", "1"}, {"x-forwarded-for", "10.9.9.9, 203.0.113.9"}}, "10.0.0.1")["traffic"],
            "external");
}

TEST(Identity, RefusesOptionsThatCannotBeMeant) {
  const auto fails = [](auto change) {
    IdentityOptions options;
    change(options);
    const auto made = Identity::create(options);
    return !made.ok() && made.failure().code == Code::invalid_argument;
  };
  EXPECT_FALSE(fails([](IdentityOptions&) {}));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.trusted_proxies = {"proxy.example"}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.internal_networks = {"10.0.0.0/99"}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.ipv4_prefix = 33; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.ipv6_prefix = -1; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.tiers = {{"ip", 24, 48}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes = {{"ip", "header:x-real-ip"}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes = {{"traffic", "gateway:x-internal"}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes = {{"user", "jwt:sub"}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes = {{"user", "body:sub"}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes = {{"user", "header:"}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes = {{"", "header:x"}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.attributes.assign(kMaxAttributes, {"a", "header:a"}); }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.jwt_required = true; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.routes = {{"GET", "x", "a", 1}}; }));
  EXPECT_TRUE(fails([](IdentityOptions& o) { o.marks = {{"", "1", "internal"}}; }));
}

TEST(Identity, ABufferIsUsedAgainWithoutLeftovers) {
  IdentityOptions options;
  options.attributes = {{"client", "header:x-client"}};
  const auto identity = make(options);
  CallerAttributes caller;
  const std::string long_value(3000, 'x');
  for (const std::string& value : {std::string("a"), long_value, std::string()}) {
    const std::vector<HeaderField> headers = {{"x-client", value}};
    ASSERT_FALSE(identity->identify({"GET", "/x", headers, base::parse_ip("203.0.113.9")}, kNow, caller));
    EXPECT_EQ(caller.find("client").value_or(""), value);
    EXPECT_EQ(caller.find("ip"), "203.0.113.9");
    EXPECT_EQ(caller.attributes().size(), value.empty() ? 3u : 4u);
  }
}

}  // namespace
}  // namespace weir::identity
