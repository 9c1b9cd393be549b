// The Authorization field by examples: what each text is read as, and which have two readings.
#include "identity/credentials.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::identity {
namespace {

// {"alg":"HS256"}.{}.x
const std::string kJwt = "eyJhbGciOiJIUzI1NiJ9.e30.eA";

// "scheme|rest", or "refused".
std::string read(std::string_view text) {
  const std::optional<Credentials> credentials = parse_credentials(text);
  if (!credentials) return "refused";
  return std::string(credentials->scheme) + "|" + std::string(credentials->rest);
}

TEST(Credentials, AreASchemeAndARest) {
  EXPECT_EQ(read("Bearer abc"), "Bearer|abc");
  EXPECT_EQ(read("bEARER   abc"), "bEARER|abc") << "any number of spaces";
  EXPECT_EQ(read(" \t Bearer abc \t"), "Bearer|abc") << "white space around a field is no part of it";
  EXPECT_EQ(read("Digest username=\"u\", realm=\"r\""), "Digest|username=\"u\", realm=\"r\"");
  EXPECT_EQ(read("Bearer"), "Bearer|");
  EXPECT_EQ(read("Bearer "), "Bearer|");
  EXPECT_EQ(read("key"), "|key") << "one word is no scheme";
  EXPECT_EQ(read(""), "|");
}

TEST(Credentials, OfABearerAreATokenWithoutStrangeCharacters) {
  EXPECT_EQ(read("Bearer aZ09-._~+/=="), "Bearer|aZ09-._~+/==");
  for (const char* text :
       {"Bearer a,b", "Bearer a b", "Bearer a\tb", "Bearer =", "Bearer a=b", "Bearer a:b", "Bearer \"a\"",
        "Bearer a\x7f", "Bearer a\xc3\xa4", "Bearer[", "Bearer@", "Bearer a`b", "Bearer a{"}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
}

TEST(Credentials, WithoutASpaceBehindTheSchemeAreRefused) {
  for (const char* text :
       {"Bearer\tabc", "Bearer,abc", "Bearer:abc", "Bearerabc", "\"Bearer\" abc", "X-Bearer abc", "x Bearer abc",
        "x Bearer", "x,bearer=abc", "Ba\x01sic abc", "Basic\x7f abc", "x\xa0y z", "a\tb"}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
  EXPECT_EQ(read("Forbearer abc"), "Forbearer|abc") << "another word that contains it";
  EXPECT_EQ(read("x unbearer bearers bearerx"), "x|unbearer bearers bearerx");
  EXPECT_EQ(read("unbearable"), "|unbearable");
}

TEST(Credentials, OfBasicAreStrictBase64) {
  EXPECT_EQ(read("Basic dXNlcjpwYXNz"), "Basic|dXNlcjpwYXNz");
  EXPECT_EQ(read("basic dXNlcjpwYQ=="), "basic|dXNlcjpwYQ==");
  EXPECT_EQ(read("Basic dXNlcjpwYTE="), "Basic|dXNlcjpwYTE=");
  EXPECT_EQ(read("Basic a+/b"), "Basic|a+/b");
  EXPECT_EQ(read("Basic"), "|Basic") << "one word is no scheme";
  for (const char* text : {"Basic dXNlcjpwYQ", "Basic dXNlcjpwYQ=", "Basic dXNl=cjp", "Basic a-_b",
                           "Basic dXNlcjpwYR==", "Basic =", "Basic ====", "Basic A===", "Basic dXNl cjpw",
                           "Basic dXNlcjpwYXNz,", "Basic dXNlcjpw YXNz"}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
}

TEST(Credentials, ThatHideATokenAreRefused) {
  EXPECT_EQ(read("JWT " + kJwt), "JWT|" + kJwt);
  EXPECT_EQ(read(kJwt), "|" + kJwt);
  for (const std::string& text : {"x=" + kJwt, kJwt + " x", kJwt + ",x", "Digest t=\"" + kJwt + "\"", "x " + kJwt + ";",
                                  "x a," + kJwt, "x " + kJwt + " " + kJwt}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
  // Two or four parts, or a first part that is no object, are no token.
  for (const std::string& text :
       {std::string("x=a.b.c"), "x=" + kJwt + ".e30", std::string("x=eyJhbGciOiJIUzI1NiJ9.e30")}) {
    EXPECT_EQ(read(text), "|" + text);
  }
  EXPECT_EQ(read("x=IHsifQ.a.b"), "refused") << "white space before the object";
}

std::string token(std::string_view text, bool bare_allowed = false) {
  return std::string(token_of(*parse_credentials(text), bare_allowed));
}

TEST(Credentials, TheTokenIsWhatFollowsBearerOrLooksLikeOne) {
  EXPECT_EQ(token("Bearer abc"), "abc");
  EXPECT_EQ(token("BEARER abc"), "abc");
  EXPECT_EQ(token("Bearer"), "");
  EXPECT_EQ(token("Token abc"), "");
  EXPECT_EQ(token("Token " + kJwt), kJwt);
  EXPECT_EQ(token(kJwt), kJwt);
  EXPECT_EQ(token("abc"), "");
  EXPECT_EQ(token("abc", true), "abc") << "in a field of its own";
  EXPECT_EQ(token("Token abc", true), "");
}

TEST(Credentials, HaveOneSpelling) {
  const auto spelled = [](std::string_view text) { return canonical_text(*parse_credentials(text)); };
  EXPECT_EQ(spelled("bEaReR   abc"), "Bearer abc");
  EXPECT_EQ(spelled("ApiKey  Abc"), "Apikey Abc");
  EXPECT_EQ(spelled("zkey a"), "Zkey a");
  EXPECT_EQ(spelled("akey a"), "Akey a");
  EXPECT_EQ(spelled("{key a"), "{key a");
  EXPECT_EQ(spelled("`key a"), "`key a");
  EXPECT_EQ(spelled("bearer"), "Bearer");
  EXPECT_EQ(spelled("Abc"), "Abc") << "without a scheme nothing changes";
}

}  // namespace
}  // namespace weir::identity
