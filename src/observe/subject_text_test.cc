#include "observe/subject_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::observe {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class SubjectTextTest : public testing::Test {
 protected:
  RequestContext context(std::vector<Attribute> attributes, std::vector<std::string> per) {
    attributes_ = std::move(attributes);
    per_ = std::move(per);
    RequestContext made;
    made.attributes = attributes_;
    made.per = per_;
    return made;
  }
  std::string values(const RequestContext& of) { return subject_values(of, secrets_, encoder_); }

  std::vector<Attribute> attributes_;
  std::vector<std::string> per_;
  SecretNames secrets_;
  keys::KeyEncoder encoder_{HashKey{7}};
};

TEST_F(SubjectTextTest, TheTypeIsWhatTheRequestIsCountedBy) {
  EXPECT_EQ(subject_type(context({{"ip", "::1"}, {"tenant", "acme"}}, {"tenant", "session|ip"})), "tenant,ip");
  EXPECT_EQ(subject_type(context({{"ip", "::1"}, {"session", "s"}}, {"session|ip"})), "session");
  EXPECT_EQ(subject_type(context({{"ip", "::1"}}, {})), "all");
  EXPECT_EQ(subject_type(context({{"tenant", "acme"}}, {"tenant", "ip"})), "") << "not all are known";
}

TEST_F(SubjectTextTest, AnAlternativeIsNotNamedIfAnEarlierOneMayHaveBeenLeftOut) {
  RequestContext partial = context({{"ip", "::1"}}, {"session|ip"});
  partial.complete = false;
  EXPECT_EQ(subject_type(partial), "");
}

TEST_F(SubjectTextTest, PlainValuesOfAllCountedAttributesAndOfNoOther) {
  EXPECT_EQ(values(context({{"tenant", "acme"}, {"color", "red"}, {"ip", "::1"}, {"ip", "::2"}}, {"tenant", "ip"})),
            "tenant=acme,ip=::1,ip=::2");
}

TEST_F(SubjectTextTest, SecretsAreHashedUnderEveryNameThatIdentityKnows) {
  secrets_.add("X-Session-Id");
  for (const char* name :
       {"api_key", "API-Key", "x-api-key", "Authorization", "token", "x_session_id", "api_key@previous"}) {
    const std::string text = values(context({{name, "hunter2"}}, {name}));
    EXPECT_THAT(text, MatchesRegex(".*=#[0-9a-f]{12}")) << name;
    EXPECT_THAT(text, Not(HasSubstr("hunter2"))) << name;
  }
}

TEST_F(SubjectTextTest, TheHashDependsOnKeyNameAndValue) {
  const auto digits = [](std::string_view name, std::string_view value, std::uint8_t key) {
    return value_digits(name, value, keys::KeyEncoder(HashKey{key}));
  };
  EXPECT_EQ(digits("tenant", "acme", 1), digits("tenant", "acme", 1));
  EXPECT_NE(digits("tenant", "acme", 1), digits("tenant", "acme", 2));
  EXPECT_NE(digits("tenant", "acme", 1), digits("tenant", "acme2", 1));
  EXPECT_NE(digits("tenant", "acme", 1), digits("team", "acme", 1));
}

TEST_F(SubjectTextTest, LongValuesAreCutBetweenCharacters) {
  EXPECT_EQ(cut_value(std::string(200, 'x')), std::string(kMaxLoggedValue, 'x'));
  const std::string long_value = std::string(kMaxLoggedValue - 1, 'x') + "\u00e9tranger";
  EXPECT_EQ(cut_value(long_value), std::string(kMaxLoggedValue - 1, 'x'));
  EXPECT_EQ(cut_value("short"), "short");
}

}  // namespace
}  // namespace weir::observe
