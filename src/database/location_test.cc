#include "database/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::database {
namespace {

TEST(Location, APathOfSqliteIsBelowTheDataFolder) {
  const Location relative = parse_location("sqlite:weir.db", "/var/lib/weir").value();
  EXPECT_EQ(relative.kind, Location::Kind::sqlite);
  EXPECT_EQ(relative.address, "/var/lib/weir/weir.db");
  EXPECT_EQ(relative.shown, "sqlite:/var/lib/weir/weir.db");
  EXPECT_EQ(parse_location("sqlite:/srv/w.db", "/var/lib/weir").value().address, "/srv/w.db");
}

TEST(Location, ShowsAUrlWithoutItsSecrets) {
  const Location location =
      parse_location("postgres://weir:s3cret@db.example:5433/quota?sslmode=verify-full&sslpassword=hush", "/").value();
  EXPECT_EQ(location.kind, Location::Kind::postgres);
  EXPECT_EQ(location.shown, "postgres://weir@db.example:5433/quota");
  EXPECT_THAT(location.address, testing::HasSubstr("s3cret"));
  EXPECT_EQ(parse_location("postgresql://a,b:5433/w", "/").value().shown, "postgres://a,b:,5433/w");
}

TEST(Location, OffIsNone) { EXPECT_EQ(parse_location("off", "/").value().kind, Location::Kind::off); }

TEST(Location, RefusesWhatItDoesNotUnderstandWithoutRepeatingAPassword) {
  for (const char* text :
       {"", "mysql://h/d", "weir.db", "sqlite", "sqlite:", "sqlite:/srv/", "sqlite::memory:", "sqlite://host/path",
        "Postgres://h/d", "postgres://u:s3cret@h:port/d/e?x=y", "postgres://u:s3cret@[::1/d",
        "postgres://u:s3cret@h/d?nosuchoption=1", "postgres://u:s3cret%zz@h/d"}) {
    const auto refused = parse_location(text, "/");
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.failure().code, Code::invalid_argument);
    EXPECT_THAT(refused.failure().message, testing::Not(testing::HasSubstr("s3cret"))) << text;
    EXPECT_THAT(refused.failure().message, testing::HasSubstr("expected")) << text;
  }
}

}  // namespace
}  // namespace weir::database
