// Attributes that callers send themselves, as honest and hostile callers send them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "identity/identity.h"
#include "tests/support/identity.h"
#include "tests/support/scratch_file.h"
#include "tests/support/token_maker.h"

namespace weir::identity {
namespace {

using testing::HasSubstr;

const TimePoint kNow = kTestNow;

class SentIdentityTest : public testing::Test {
 protected:
  SentIdentityTest() {
    options_.tiers = {{"ip_subnet", 24, 48}};
    options_.names = {
        .ip = {"ip", "remote_address"}, .api_key = {"api_key", "x-api-key"}, .token = {"authorization", "jwt"}};
    options_.takes_sent = true;
  }

  void with_tokens() {
    options_.jwt = JwtOptions{};
    options_.jwt->secret_file = secret_.path();
    options_.attributes = {{"tenant", "jwt:org.id"}, {"user", "jwt:sub"}};
  }
  static std::string token(const std::string& claims = R"("sub":"ann","org":{"id":"acme"},)") {
    return hs256_token(kTestSecret, "{" + claims + R"("exp":1900000000})");
  }

  // "ip=10.0.0.1 | ip_subnet=10.0.0.0/24": those that were sent, then the derived ones; or "cause attribute: text".
  std::string ask(const std::vector<Attribute>& sent, SentPart part = SentPart::request) {
    if (identity_ == nullptr) identity_ = make_identity(options_);
    const std::size_t before = out_.size();
    if (const auto refusal = identity_->identify_sent(sent, part, kNow, out_)) {
      EXPECT_EQ(out_.size(), before);
      refused_as_ = refusal->kind;
      return refusal->cause + " " + std::string(refusal->attribute) + ": " + std::string(refusal->text);
    }
    return text(before);
  }
  std::string text(std::size_t i) const {
    std::string all;
    const std::size_t sent = out_.attributes(i).size() - out_.derived(i);
    for (std::size_t at = 0; at < out_.attributes(i).size(); ++at) {
      if (at == sent)
        all += all.empty() ? "| " : " | ";
      else if (at > 0)
        all += " ";
      const Attribute& each = out_.attributes(i)[at];
      all += std::string(each.name) + "=" + std::string(each.value);
    }
    return all;
  }
  std::string hashed(std::string_view value) const { return ApiKeys::text(ApiKeys(options_.keys).hash(value)); }
  std::string previously(std::string_view value) const {
    return ApiKeys::text(*ApiKeys(options_.keys).previous_hash(value));
  }
  std::string fault() const {
    const auto identity = Identity::create(options_);
    return identity.ok() ? "" : identity.failure().message;
  }

  const ScratchFile secret_{kTestSecret};
  const ScratchFile revoked_{"sk_leaked\nBearer sk_leaked\nclient-7\n"};
  IdentityOptions options_;
  std::shared_ptr<const Identity> identity_;
  SentRequests out_;
  Refusal::Kind refused_as_{};
};

TEST_F(SentIdentityTest, AnAddressBecomesItsNetworkUnderItsOwnNameAndIp) {
  EXPECT_EQ(ask({{"ip", "2001:db8:1:2:3::4"}, {"action", "x"}}),
            "ip=2001:db8:1:2:: action=x | ip_subnet=2001:db8:1::/48");
  EXPECT_EQ(ask({{"action", "x"}, {"remote_address", "203.0.113.9"}}),
            "action=x remote_address=203.0.113.9 | ip=203.0.113.9 ip_subnet=203.0.113.0/24");
}

TEST_F(SentIdentityTest, OneAddressHasOneSpelling) {
  const std::string plain = ask({{"ip", "203.0.113.9"}});
  for (const char* spelling :
       {"::ffff:203.0.113.9", "::ffff:cb00:7109", "203.0.113.9:4711", "[::ffff:203.0.113.9]:80"}) {
    EXPECT_EQ(ask({{"ip", spelling}}), plain) << spelling;
  }
  EXPECT_EQ(ask({{"ip", "2001:DB8:0:0:0::1"}}), ask({{"ip", "[2001:db8::ffff]:443"}}));
}

TEST_F(SentIdentityTest, WhatIsNotAnAddressIsRefused) {
  for (const char* text :
       {"", " ", "localhost", "203.0.113.0/24", "1.2.3", "010.1.1.1", "1.2.3.4, 5.6.7.8", "fe80::1%eth0"}) {
    EXPECT_EQ(ask({{"ip", text}}), "address ip: is not an IP address") << text;
    EXPECT_EQ(refused_as_, Refusal::Kind::malformed);
  }
}

TEST_F(SentIdentityTest, NamesAreRecognizedInAnyCaseAndWithEitherDash) {
  EXPECT_EQ(ask({{"Remote-Address", "203.0.113.9"}}),
            "Remote-Address=203.0.113.9 | ip=203.0.113.9 ip_subnet=203.0.113.0/24");
  EXPECT_EQ(ask({{"X_API_KEY", "k"}}), "X_API_KEY=" + hashed("k") + " | api_key=" + hashed("k"));
  EXPECT_EQ(ask({{"ips", "x"}, {"api_key2", "k"}}), "ips=x api_key2=k");
}

TEST_F(SentIdentityTest, KeysAreHashedAsTheyAreBehindAGateway) {
  options_.attributes = {{"api_key", "header:x-api-key"}};
  identity_ = make_identity(options_);
  const std::string behind_gateway = identity::ask(identity_, {{"X-Api-Key", " sk_live "}})["api_key"];
  EXPECT_EQ(ask({{"api_key", "sk_live"}}), "api_key=" + behind_gateway);
  EXPECT_EQ(ask({{"api_key", "\tsk_live "}}), "api_key=" + behind_gateway);
  EXPECT_EQ(ask({{"x-api-key", "sk_live"}}), "x-api-key=" + behind_gateway + " | api_key=" + behind_gateway);
}

TEST_F(SentIdentityTest, AnEmptyKeyIsNone) {
  EXPECT_EQ(ask({{"api_key", ""}, {"tenant", "acme"}}), "tenant=acme");
  EXPECT_EQ(ask({{"x-api-key", " \t"}, {"api_key", "k"}}), "api_key=" + hashed("k"));
  EXPECT_EQ(ask({{"authorization", ""}}), "");
}

TEST_F(SentIdentityTest, ARevokedKeyIsRefusedUnderEachOfItsNames) {
  options_.revoked_keys_file = revoked_.path();
  for (const char* name : {"api_key", "x-api-key", "X-API-KEY"}) {
    EXPECT_EQ(ask({{name, "sk_leaked"}}), "revoked_key : the credentials were not accepted") << name;
    EXPECT_EQ(refused_as_, Refusal::Kind::blocked);
  }
  EXPECT_EQ(ask({{"tenant", "acme"}, {"api_key", " sk_leaked "}}), "revoked_key : the credentials were not accepted");
  EXPECT_EQ(ask({{"api_key", std::string_view("sk_leaked\0", 10)}}),
            "malformed_field api_key: has a control character");
  EXPECT_EQ(ask({{"api_key", "sk_other"}}), "api_key=" + hashed("sk_other"));
}

TEST_F(SentIdentityTest, AKeyInAuthorizationIsReadAsCredentials) {
  options_.names.api_key = {"authorization"};
  options_.names.token = {};
  options_.revoked_keys_file = revoked_.path();
  const std::string one = "authorization=" + hashed("Bearer k") + " | api_key=" + hashed("Bearer k");
  EXPECT_EQ(ask({{"authorization", "Bearer k"}}), one);
  EXPECT_EQ(ask({{"authorization", "bearer   k"}}), one);
  EXPECT_THAT(ask({{"authorization", "bearer\tk"}}), HasSubstr("control character"));
  EXPECT_THAT(ask({{"authorization", "Bearer a Bearer b"}}),
              HasSubstr("credentials authorization: can be read in two"));
  EXPECT_THAT(ask({{"authorization", "BEARER  sk_leaked"}}), HasSubstr("revoked_key"));
}

// Rules count all values of a name, so a value that is sent twice would be another subject with a limit of its own.
TEST_F(SentIdentityTest, ANameThatIsSentTwiceIsRefused) {
  const char* const text = ": is sent more than once, expected one value";
  EXPECT_EQ(ask({{"ip", "10.0.0.1"}, {"ip", "10.0.0.1"}}), std::string("repeated_field ip") + text);
  EXPECT_EQ(ask({{"ip", "10.0.0.1"}, {"ip", "::ffff:10.0.0.1"}}), std::string("repeated_field ip") + text);
  EXPECT_EQ(ask({{"api_key", "a"}, {"api_key", "a"}}), std::string("repeated_field api_key") + text);
  EXPECT_EQ(ask({{"authorization", "b"}, {"authorization", "b"}}), std::string("repeated_field authorization") + text);
}

TEST_F(SentIdentityTest, DifferentValuesOfOneThingAreRefused) {
  const char* const text = ": is sent with different values, perhaps under another name too";
  EXPECT_EQ(ask({{"ip", "10.0.0.1"}, {"remote_address", "10.0.0.2"}}),
            std::string("repeated_field remote_address") + text);
  EXPECT_EQ(ask({{"api_key", "a"}, {"API_KEY", "b"}}), std::string("repeated_field API_KEY") + text);
  EXPECT_EQ(ask({{"jwt", "a"}, {"authorization", "b"}}), std::string("repeated_field authorization") + text);
  EXPECT_EQ(ask({{"ip", "10.0.0.1"}, {"remote_address", "::ffff:10.0.0.1"}}),
            "ip=10.0.0.1 remote_address=10.0.0.1 | ip_subnet=10.0.0.0/24");
  EXPECT_EQ(ask({{"api_key", "a"}, {"x-api-key", "a"}}), "api_key=" + hashed("a") + " x-api-key=" + hashed("a"));
}

TEST_F(SentIdentityTest, WhatIdentityMakesIsNeverTheCallers) {
  options_.names.ip = {"remote_address"};
  options_.names.api_key = {"x-api-key"};
  EXPECT_EQ(ask({{"ip", "6.6.6.6"}, {"ip_subnet", "6.0.0.0/8"}, {"remote_address", "10.0.0.1"}}),
            "ip=10.0.0.1 ip_subnet=10.0.0.0/24 remote_address=10.0.0.1");
  EXPECT_EQ(ask({{"ip", "6.6.6.6"}, {"ip_subnet", "6.0.0.0/8"}, {"api_key", "k_made_up"}, {"user", "ann"}}),
            "user=ann");
  EXPECT_EQ(ask({{"api_key", "a"}, {"x-api-key", "b"}, {"api_key", "c"}}),
            "api_key=" + hashed("b") + " x-api-key=" + hashed("b"));
}

TEST_F(SentIdentityTest, ClaimsOfAVerifiedTokenReplaceWhatTheCallerSent) {
  with_tokens();
  const std::string good = token();
  const std::string bearer = "Bearer " + good;
  EXPECT_EQ(ask({{"tenant", "rival"}, {"authorization", bearer}}),
            "tenant=acme authorization=" + hashed(bearer) + " | user=ann");
  EXPECT_EQ(ask({{"jwt", good}, {"plan", "free"}}), "jwt=" + hashed(good) + " plan=free | tenant=acme user=ann");
  EXPECT_EQ(ask({{"tenant", "rival"}, {"plan", "gold"}}), "plan=gold") << "without a token there is no tenant";
}

TEST_F(SentIdentityTest, AnInvalidTokenIsRefusedWithoutAReason) {
  with_tokens();
  const std::string expired = hs256_token(kTestSecret, R"({"sub":"ann","exp":1700000000})");
  const std::string forged = token() + "x";
  for (const std::string& text : {"Bearer " + expired, "Bearer " + forged, std::string("Bearer opaque")}) {
    EXPECT_THAT(ask({{"authorization", text}}), HasSubstr(" : the credentials were not accepted")) << text;
    EXPECT_EQ(refused_as_, Refusal::Kind::unauthenticated);
  }
  out_.clear();
  EXPECT_THAT(ask({{"jwt", "Bearer a, Bearer b"}}), HasSubstr("credentials jwt: can be read in two ways"));
  EXPECT_EQ(ask({{"authorization", "Basic YTpi"}}), "authorization=" + hashed("Basic YTpi")) << "not a token";
  EXPECT_EQ(ask({{"authorization", "bearer"}}), "authorization=" + hashed("Bearer")) << "no token";
}

TEST_F(SentIdentityTest, ATokenCanBeRequiredOfEachRequestOrOfOneDescriptor) {
  with_tokens();
  options_.jwt_required = true;
  EXPECT_THAT(ask({{"ip", "10.0.0.1"}}), HasSubstr("no_token"));
  EXPECT_EQ(ask({{"user", "x"}}, SentPart::descriptor), "");
  ASSERT_TRUE(identity_->check_descriptors(out_));
  EXPECT_EQ(identity_->check_descriptors(out_)->cause, "no_token");
  const std::string good = token();
  EXPECT_THAT(ask({{"jwt", good}}, SentPart::descriptor), HasSubstr("tenant=acme"));
  EXPECT_FALSE(identity_->check_descriptors(out_));
}

TEST_F(SentIdentityTest, WithoutKeysTokensAreOnlyHashed) {
  EXPECT_EQ(ask({{"authorization", "Bearer opaque"}}), "authorization=" + hashed("Bearer opaque"));
  options_.names.token = {};
  identity_ = nullptr;
  EXPECT_EQ(ask({{"Authorization", "Bearer opaque"}}), "Authorization=" + hashed("Bearer opaque"));
}

TEST_F(SentIdentityTest, OneTokenIsVerifiedOnceAndNotTooManyInOneCall) {
  with_tokens();
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i <= SentRequests::kMaxTokens; ++i) {
    tokens.push_back(token("\"sub\":\"u" + std::to_string(i) + "\","));
  }
  for (std::size_t i = 0; i < SentRequests::kMaxTokens; ++i) {
    EXPECT_THAT(ask({{"jwt", tokens[i]}}), HasSubstr("user=u" + std::to_string(i)));
  }
  EXPECT_THAT(ask({{"jwt", tokens.back()}}), HasSubstr("too_many_tokens jwt: is one of more than 64"));
  EXPECT_THAT(ask({{"jwt", tokens[7]}}), HasSubstr("user=u7")) << "known already";
  out_.clear();
  EXPECT_THAT(ask({{"jwt", tokens.back()}}), HasSubstr("user=u64"));
}

TEST_F(SentIdentityTest, OtherAttributesCanBeHashed) {
  options_.hashed = {"session"};
  EXPECT_EQ(ask({{"session", "s3cret"}, {"x", "s3cret"}}), "session=" + hashed("s3cret") + " x=s3cret");
  EXPECT_EQ(ask({{"session", "\xff\xfe"}}), "session=" + hashed("\xff\xfe"));
  EXPECT_EQ(ask({{"session", ""}}), "");
  EXPECT_THAT(ask({{"session", "a"}, {"session", "b"}}), HasSubstr("repeated_field session"));
}

TEST_F(SentIdentityTest, AKeyThatIsAClaimIsMadeOfTheToken) {
  with_tokens();
  options_.attributes = {{"api_key", "jwt:client_id"}};
  options_.revoked_keys_file = revoked_.path();
  const std::string good = token(R"("client_id":"client-1",)");
  EXPECT_EQ(ask({{"api_key", "made-up"}, {"jwt", good}}), "api_key=" + hashed("client-1") + " jwt=" + hashed(good));
  EXPECT_EQ(ask({{"api_key", "made-up"}}), "");
  const std::string leaked = token(R"("client_id":"client-7",)");
  EXPECT_THAT(ask({{"jwt", leaked}}), HasSubstr("revoked_key"));
}

TEST_F(SentIdentityTest, DuringARotationHashesUnderThePreviousKeyFollow) {
  options_.keys.previous = HashKey{1, 2};
  options_.hashed = {"session"};
  EXPECT_EQ(ask({{"x-api-key", "k"}, {"session", "s"}}),
            "x-api-key=" + hashed("k") + " session=" + hashed("s") + " | api_key=" + hashed("k") +
                " api_key@previous=" + previously("k") + " x-api-key@previous=" + previously("k") +
                " session@previous=" + previously("s"));
  EXPECT_EQ(ask({{"api_key@previous", "k_made_up"}}), "reserved_name api_key@previous: is a reserved name");
}

TEST_F(SentIdentityTest, WhatIsAddedCountsAgainstTheBound) {
  std::vector<Attribute> sent(63, {"a", "b"});
  sent.push_back({"ip", "10.0.0.1"});
  EXPECT_THAT(ask(sent), HasSubstr(": there are more than 64 attributes, with those that identity adds"));
  sent.erase(sent.begin());
  EXPECT_THAT(ask(sent), HasSubstr("| ip_subnet=10.0.0.0/24"));
  EXPECT_EQ(out_.attributes(0).size(), kMaxAttributes);
  EXPECT_THAT(ask(std::vector<Attribute>(65, {"a", "b"})), HasSubstr("a=b")) << "the front end's to refuse";
}

TEST_F(SentIdentityTest, RequestsOfACallAreKeptSideBySide) {
  EXPECT_THAT(ask({{"ip", "10.0.0.1"}}), HasSubstr("ip=10.0.0.1"));
  EXPECT_THAT(ask({{"ip", "nowhere"}}), HasSubstr("address ip"));
  for (int i = 0; i < 1000; ++i) ask({{"api_key", "k"}, {"remote_address", "2001:db8::1"}});
  ASSERT_EQ(out_.size(), 1001U);
  EXPECT_EQ(text(0), "ip=10.0.0.1 | ip_subnet=10.0.0.0/24");
  EXPECT_EQ(text(1000), text(1));
  EXPECT_THAT(text(1), HasSubstr("remote_address=2001:db8:: | ip=2001:db8::"));
}

TEST_F(SentIdentityTest, WhatHasNoNameIsPassedOn) {
  with_tokens();
  options_.names = {};
  EXPECT_EQ(ask({{"ip", "x"}, {"ip_subnet", "y"}, {"api_key", "k"}, {"tenant", "acme"}, {"jwt", "j"}}),
            "ip=x ip_subnet=y api_key=k tenant=acme jwt=j");
}

TEST_F(SentIdentityTest, RefusesNamesThatCannotBeMeant) {
  options_.names.ip = {"ip", "Remote-Address", "remote_address"};
  EXPECT_THAT(fault(), HasSubstr("names.ip: has the name \"remote_address\", which is there twice"));
  options_.names.ip = {"ip"};
  options_.names.token = {"x-api-key"};
  EXPECT_THAT(fault(), HasSubstr("names.token: has the name \"x-api-key\", which is there twice, or also among"));
  options_.names.token = {"ip_subnet"};
  EXPECT_THAT(fault(), HasSubstr("names.token: has the name \"ip_subnet\", which is an attribute that Weir makes"));
  for (const char* name : {"", "a b", "a,b", "x@previous"}) {
    options_.names.token = {name};
    EXPECT_THAT(fault(), HasSubstr("names.token: has ")) << name;
  }
  options_.names.token = {};
  options_.hashed = {"session"};
  EXPECT_EQ(fault(), "");
  options_.takes_sent = false;
  EXPECT_THAT(fault(), HasSubstr("hashed: has the entry \"session\", which is not among attributes"));
}

}  // namespace
}  // namespace weir::identity
