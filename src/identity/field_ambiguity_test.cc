// No spelling of a cookie, query parameter, header or token makes Weir count a request under something else than what
// a server behind it reads: whatever any of many servers reads, Weir reads too, or it refuses the request.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/identity.h"
#include "tests/support/scratch_file.h"
#include "tests/support/server_models.h"
#include "tests/support/token_maker.h"

namespace weir::identity {
namespace {

const ScratchFile& secret_file() {
  static const ScratchFile file(kTestSecret);
  return file;
}

const std::shared_ptr<const Identity>& identity() {
  static const std::shared_ptr<const Identity> made = [] {
    IdentityOptions options;
    options.attributes = {{"session", "cookie:sid"},
                          {"app", "query:app"},
                          {"client", "header:x-client"},
                          {"key", "header:authorization"},
                          {"user", "jwt:sub"}};
    options.jwt.emplace();
    options.jwt->secret_file = secret_file().path();
    return make_identity(options);
  }();
  return made;
}

const Text kGood = hs256_token(kTestSecret, R"({"sub":"alice","exp":1800000100})");
const Text kForged = hs256_token("another secret of thirty-two byte", R"({"sub":"mallory","exp":1800000100})");

Text any_text_of(const std::vector<Text>& pieces, int most) {
  Text text;
  for (int left = *rc::gen::inRange(0, most); left > 0; --left) text += *rc::gen::elementOf(pieces);
  return text;
}

RC_GTEST_PROP(FieldAmbiguity, ACookieIsWhatEveryServerReadsOrIsRefused, ()) {
  const std::vector<Text> pieces = {"sid",  "SID",   "s%69d",  "x", "sid=real", "sid=other",   "sid=%72eal",
                                    "=",    ";",     "; ",     " ", "\t",       ",",           "\"",
                                    "real", "other", "%72eal", "%", "xsid=1",   "sid=\"real\""};
  std::vector<Text> lines;
  for (int left = *rc::gen::inRange(1, 4); left > 0; --left) lines.push_back(any_text_of(pieces, 8));
  std::vector<HeaderField> headers;
  Text joined;
  for (const Text& line : lines) {
    headers.push_back({headers.empty() ? "Cookie" : "cookie", line});
    joined += (joined.empty() ? "" : "; ") + line;
  }
  const Asked asked = ask(identity(), headers);
  if (asked.refusal) {
    RC_ASSERT(asked.refusal->kind == Refusal::Kind::malformed);
    return;
  }
  for (const PairReader& server : cookie_readers()) {
    const Text session = unescaped(unquoted(server.read(joined, "sid").value_or("")));
    if (!session.empty()) RC_ASSERT(asked["session"] == session);
  }
}

RC_GTEST_PROP(FieldAmbiguity, AQueryParameterIsWhatEveryServerReadsOrIsRefused, ()) {
  const std::vector<Text> pieces = {"app",       "APP",        "%61pp",   "+app",  "x",      "app=real",
                                    "app=other", "app=%72eal", "app%00=", "=",     "&",      "&",
                                    ";",         "+",          "real",    "other", "%72eal", "#"};
  const Text query = any_text_of(pieces, 10);
  const Text target = "/x?" + query;
  const Asked asked = ask(identity(), {}, "203.0.113.9", target);
  if (asked.refusal) {
    RC_ASSERT(asked.refusal->kind == Refusal::Kind::malformed);
    return;
  }
  for (const PairReader& server : query_readers()) {
    for (const Text& text : {query, query.substr(0, query.find('#'))}) {
      const Read app = server.read(text, "app");
      if (!app || app->empty()) continue;
      RC_ASSERT(stripped(asked["app"], " ") == stripped(*app, " "));
    }
  }
}

RC_GTEST_PROP(FieldAmbiguity, AHeaderIsWhatEveryServerReadsOrIsRefused, ()) {
  std::vector<HeaderField> headers;
  for (int left = *rc::gen::inRange(1, 4); left > 0; --left) {
    headers.push_back({*rc::gen::element<std::string_view>("x-client", "X-Client", "x_client", "X_CLIENT", "x-other"),
                       *rc::gen::element<std::string_view>("real", " real\t", "other", "")});
  }
  const Asked asked = ask(identity(), headers);
  if (asked.refusal) {
    RC_ASSERT(asked.refusal->kind == Refusal::Kind::malformed);
    return;
  }
  for (const bool like_cgi : {false, true}) {
    for (const HeaderField& header : headers) {
      Text name = lowered(header.name);
      for (char& c : name) c = like_cgi && c == '_' ? '-' : c;
      // Any of them may be the one that a server takes.
      if (name != "x-client" || base::trimmed(header.value).empty()) continue;
      RC_ASSERT(asked["client"] == base::trimmed(header.value));
    }
  }
}

RC_GTEST_PROP(FieldAmbiguity, NoTokenThatAServerReadsPassesUnseen, ()) {
  const std::vector<Text> pieces = {"Bearer", "bearer", "BEARER ", "Bearer ", "Basic ", "JWT ", "DPoP ",
                                    kGood,    kForged,  kGood,     kForged,   " ",      "\t",   ",",
                                    ":",      "=",      "\"",      "\xa0",    "  "};
  std::vector<Text> lines;
  for (int left = *rc::gen::inRange(1, 3); left > 0; --left) lines.push_back(any_text_of(pieces, 6));
  std::vector<HeaderField> headers;
  for (const Text& line : lines) headers.push_back({"Authorization", line});
  const Asked asked = ask(identity(), headers);
  if (asked.refusal) return;
  for (const Text& line : lines) {
    for (const Text& token : tokens_read(line)) {
      RC_ASSERT(token != kForged);
      if (token == kGood) RC_ASSERT(asked["user"] == "alice");
    }
  }
}

TEST(FieldAmbiguity, OrdinaryCookiesAreRead) {
  const auto session = [](std::vector<HeaderField> headers) {
    const Asked asked = ask(identity(), headers);
    return asked.refusal ? asked.cause() : asked["session"];
  };
  EXPECT_EQ(session({{"Cookie", "a=1; sid=real; b=2"}}), "real");
  EXPECT_EQ(session({{"Cookie", "a=1;sid=real"}}), "real");
  EXPECT_EQ(session({{"Cookie", "a=1"}, {"cookie", "sid=real"}}), "real") << "HTTP/2 sends one line for each";
  EXPECT_EQ(session({{"Cookie", "sid = real ; a=1"}}), "real");
  EXPECT_EQ(session({{"Cookie", "sid=\"real\""}}), "real");
  EXPECT_EQ(session({{"Cookie", "sid=s%3Areal.sig"}}), "s:real.sig");
  EXPECT_EQ(session({{"Cookie", "sid=100%"}}), "100%");
  EXPECT_EQ(session({{"Cookie", "sid=YWI+Yw/=="}}), "YWI+Yw/==");
  EXPECT_EQ(session({{"Cookie", "note=say \"hi\", sidney; sid=real"}}), "real") << "other cookies may have any form";
  EXPECT_EQ(session({{"Cookie", "xsid=1; sidx=2; sid"}}), "-");
  EXPECT_EQ(session({{"Cookie", "sid=; a=1"}}), "-");
  EXPECT_EQ(session({{"Cookie", ";;; ;"}}), "-");
}

TEST(FieldAmbiguity, CookiesThatCanBeReadInTwoWaysAreRefused) {
  for (const char* line :
       {"sid=random; sid=real", "sid=real; sid=real", "sid=; sid=real", "SID=real", "s%69d=real", "x=1, sid=real",
        "x=1 sid=real", "=sid=real", "sid=re al", "sid=re,al", "sid=\"real", "sid=re\"al", "sid=\"re\\141l\"",
        "x=\"a; sid=real\"", "sid=caf\xc3\xa9", "sid=a%00b", "sid=a%0Ab", "sid= sid=real", "sid=sid=real"}) {
    const Asked asked = ask(identity(), {{"Cookie", line}});
    ASSERT_TRUE(asked.refusal) << line;
    EXPECT_EQ(asked.refusal->kind, Refusal::Kind::malformed) << line;
  }
  EXPECT_EQ(ask(identity(), {{"Cookie", "sid=random"}, {"Cookie", "sid=real"}}).cause(), "repeated_field");
}

TEST(FieldAmbiguity, QueriesThatCanBeReadInTwoWaysAreRefused) {
  for (const char* query : {"app=1;x=2", "x=1;app=2", "app=1&app=2", "APP=1", "+app=1", "app%00=1", "app=%ff",
                            "app=%0A", "app=%zz", "app=1#f"}) {
    const std::string target = std::string("/x?") + query;
    EXPECT_TRUE(ask(identity(), {}, "203.0.113.9", target).refusal) << query;
  }
  EXPECT_EQ(ask(identity(), {}, "203.0.113.9", "/x?y=1;2&app=a%20b&z")["app"], "a b") << "others may have any form";
}

// A revoked key stays revoked whichever of its spellings is on the list.
TEST(FieldAmbiguity, ARevokedKeyInACookieIsRefusedInEitherSpelling) {
  const ScratchFile revoked("raw%2Bkey\nplain+key\n");
  IdentityOptions options;
  options.attributes = {{"api_key", "cookie:key"}};
  options.revoked_keys_file = revoked.path();
  const auto keys = make_identity(options);
  EXPECT_EQ(ask(keys, {{"Cookie", "key=raw%2Bkey"}}).cause(), "revoked_key");
  EXPECT_EQ(ask(keys, {{"Cookie", "key=plain%2Bkey"}}).cause(), "revoked_key");
  EXPECT_EQ(ask(keys, {{"Cookie", "key=plain+key"}}).cause(), "revoked_key");
  EXPECT_FALSE(ask(keys, {{"Cookie", "key=other"}}).refusal);
}

TEST(FieldAmbiguity, AHeaderOfItsOwnAlwaysCarriesAToken) {
  IdentityOptions options;
  options.attributes = {{"user", "jwt:sub"}};
  options.jwt.emplace();
  options.jwt->secret_file = secret_file().path();
  options.jwt_header = "x-token";
  const auto tokens = make_identity(options);
  EXPECT_EQ(ask(tokens, {{"X-Token", kGood}})["user"], "alice");
  EXPECT_EQ(ask(tokens, {{"X-Token", "nonsense"}}).refusal->kind, Refusal::Kind::unauthenticated);
  EXPECT_EQ(ask(tokens, {{"X_Token", kGood}}).refusal->kind, Refusal::Kind::malformed);
  EXPECT_EQ(ask(tokens, {{"X-Token", kGood}, {"X_Token", kForged}}).cause(), "credentials");
}

TEST(FieldAmbiguity, OrdinaryTokensAreRead) {
  for (const Text& value : {"Bearer " + kGood, "bearer " + kGood, "BEARER   " + kGood, " Bearer " + kGood + " \t",
                            "DPoP " + kGood, "JWT " + kGood, kGood}) {
    EXPECT_EQ(ask(identity(), {{"Authorization", value}})["user"], "alice") << value;
  }
  for (const char* value : {"", "Bearer", "Bearer ", "Basic YTpi", "Digest username=\"a\", realm=\"b c\", nonce=\"x=\"",
                            "AWS4-HMAC-SHA256 Credential=A/2/s3/aws4_request, SignedHeaders=host;date, Signature=fe5f",
                            "sk_live_51.a.b", "ApiKey abc"}) {
    const Asked asked = ask(identity(), {{"Authorization", value}});
    EXPECT_FALSE(asked.refusal) << value << ": " << asked.cause();
    EXPECT_EQ(asked["user"], "-") << value;
  }
}

TEST(FieldAmbiguity, TokensThatCanBeReadInTwoWaysAreRefused) {
  const auto kind = [](std::vector<HeaderField> headers) {
    const Asked asked = ask(identity(), headers);
    return asked.refusal ? std::optional(asked.refusal->kind) : std::nullopt;
  };
  for (const Text& token : {kGood, kForged}) {
    for (const Text& value : {"Bearer\t" + token,
                              "Bearer \t" + token,
                              "Bearer:" + token,
                              "Bearer" + token,
                              "Bearer=" + token,
                              "Bearer," + token,
                              "Bearer\xa0" + token,
                              "Bearer \"" + token + "\"",
                              "Bearer " + token + ", Bearer " + token,
                              "Bearer " + token + " " + token,
                              "Basic YTpi, Bearer " + token,
                              "Bearer Bearer " + token,
                              "JWT\t" + token,
                              "\"" + token + "\"",
                              "JWT " + token + " x",
                              "Digest t=\"" + token + "\"",
                              token + " x",
                              "t=" + token + " x",
                              "\xa0"
                              "Bearer " +
                                  token,
                              "Bearer%20" + token}) {
      EXPECT_EQ(kind({{"Authorization", value}}), Refusal::Kind::malformed) << value;
    }
    EXPECT_EQ(kind({{"Authorization", "Basic YTpi"}, {"authorization", "Bearer " + token}}), Refusal::Kind::malformed);
    EXPECT_EQ(kind({{"Authorization", ""}, {"authorization", "Bearer " + token}}), Refusal::Kind::malformed);
    EXPECT_EQ(kind({{"Authorization", "Bearer " + token}, {"Authorization", "Bearer " + token}}),
              Refusal::Kind::malformed);
  }
  EXPECT_EQ(kind({{"Authorization", "JWT " + kForged}}), Refusal::Kind::unauthenticated);
  EXPECT_EQ(kind({{"Authorization", kForged}}), Refusal::Kind::unauthenticated);
}

// An API key in Authorization is one key, however its scheme is written.
TEST(FieldAmbiguity, CredentialsHaveOneSpelling) {
  const auto key = [](const char* value) {
    const Asked asked = ask(identity(), {{"Authorization", value}});
    return asked.refusal ? asked.cause() : asked["key"];
  };
  EXPECT_EQ(key("ApiKey abc"), key("APIKEY   abc"));
  EXPECT_EQ(key("Basic YTpi"), key("basic YTpi"));
  EXPECT_EQ(key("Basic YTpi"), "Basic YTpi");
  EXPECT_EQ(key("sk_live"), "sk_live");
  EXPECT_EQ(key("Sk_Live"), "Sk_Live") << "without a scheme the text is the key";
  EXPECT_EQ(key("Digest a=\"b  c\", d=e"), "Digest a=\"b  c\", d=e");
  for (const char* value :
       {"ApiKey\tabc", "ApiKey \tabc", "Basic YTp", "Basic YT-i", "Basic YTpiYx==", "Basic ====", "Basic YTpi===="}) {
    EXPECT_EQ(key(value), "credentials") << value;
  }
}

}  // namespace
}  // namespace weir::identity
