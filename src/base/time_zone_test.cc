#include "base/time_zone.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include "base/bounded_file.h"
#include "tests/support/temporary_folder.h"

namespace weir::base {
namespace {

using namespace std::chrono;  // NOLINT: dates are unreadable without

std::shared_ptr<const TimeZone> zone(std::string_view name) {
  const auto loaded = TimeZone::load(name);
  EXPECT_TRUE(loaded.ok()) << loaded.failure().message;
  return loaded.value();
}

sys_seconds utc(int y, unsigned m, unsigned d, int hour = 0, int minute = 0) {
  return sys_days(year(y) / month(m) / day(d)) + hours(hour) + minutes(minute);
}
local_seconds local(int y, unsigned m, unsigned d, int hour = 0, int minute = 0) {
  return local_seconds(utc(y, m, d, hour, minute).time_since_epoch());
}

TEST(TimeZone, KnowsSummerTimeAlsoAfterItsTableEnds) {
  const auto berlin = zone("Europe/Berlin");
  for (const int year : {2026, 2037, 2038, 2050, 2199}) {
    EXPECT_EQ(berlin->offset_at(utc(year, 7, 1)), hours(2)) << year;
    EXPECT_EQ(berlin->offset_at(utc(year, 12, 31, 23)), hours(1)) << year;
  }
  EXPECT_EQ(berlin->offset_at(utc(2026, 3, 29, 1) - seconds(1)), hours(1));
  EXPECT_EQ(berlin->offset_at(utc(2026, 3, 29, 1)), hours(2));
}

TEST(TimeZone, FindsTheFirstOfTwoEqualTimes) {
  EXPECT_EQ(zone("Europe/Berlin")->first_instant_at(local(2026, 10, 25, 2, 30)), utc(2026, 10, 25, 0, 30));
  // Midnight comes twice: at 01:00 clocks are set back to 00:00.
  EXPECT_EQ(zone("America/Havana")->first_instant_at(local(2026, 11, 1)), utc(2026, 11, 1, 4));
  // A minute after midnight, clocks were set back to the day before.
  EXPECT_EQ(zone("America/St_Johns")->first_instant_at(local(2010, 11, 7)), utc(2010, 11, 7, 2, 30));
}

TEST(TimeZone, FindsTheChangeItselfForATimeThatNoClockShows) {
  EXPECT_EQ(zone("Europe/Berlin")->first_instant_at(local(2026, 3, 29, 2, 30)), utc(2026, 3, 29, 1));
  EXPECT_EQ(zone("America/Havana")->first_instant_at(local(2026, 3, 8)), utc(2026, 3, 8, 5));
  EXPECT_EQ(zone("Pacific/Apia")->first_instant_at(local(2011, 12, 30)), utc(2011, 12, 30, 10));
  EXPECT_EQ(zone("Pacific/Apia")->first_instant_at(local(2011, 12, 31)), utc(2011, 12, 30, 10));
}

TEST(TimeZone, UtcNeedsNoFile) {
  const auto loaded = TimeZone::load("UTC", "/nowhere");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value()->first_instant_at(local(2026, 1, 1)), utc(2026, 1, 1));
}

TEST(TimeZone, SaysWhichNameWasMeant) {
  const auto refused = TimeZone::load("Europe/Berln");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().code, Code::invalid_argument);
  EXPECT_EQ(refused.failure().message, "no time zone \"Europe/Berln\"; did you mean Europe/Berlin?");
  EXPECT_EQ(TimeZone::load("Middle/Earth").failure().message,
            "no time zone \"Middle/Earth\"; expected a name such as Europe/Berlin or UTC");
  EXPECT_EQ(TimeZone::load("Europe/Berlin", "/nowhere").failure().message,
            "no time zone \"Europe/Berlin\": there are none in /nowhere (install the package tzdata)");
}

TEST(TimeZone, RefusesNamesThatAreNoZone) {
  for (const char* name : {"", "/etc/passwd", "../zoneinfo/UTC", "Europe", "Europe/", "zone.tab", "right/Europe/Berlin",
                           "posix/Europe/Berlin", "Europe/Ber lin"}) {
    EXPECT_EQ(TimeZone::load(name).failure().code, Code::invalid_argument) << name;
  }
  EXPECT_EQ(TimeZone::load(std::string("UTC\0", 4)).failure().code, Code::invalid_argument);
}

TEST(TimeZone, RefusesADamagedFileWhereverItIsCut) {
  const std::string file = read_bounded_file(TimeZone::system_folder() + "/Europe/Berlin", 100'000).value();
  ASSERT_TRUE(TimeZone::parse("Whole", file));
  for (std::size_t size = 0; size < file.size(); ++size) {
    ASSERT_FALSE(TimeZone::parse("Cut", file.substr(0, size))) << size;
  }
  const rules::TemporaryFolder folder;
  folder.write("Cut", file.substr(0, 100));
  const auto refused = TimeZone::load("Cut", folder.path().string());
  EXPECT_EQ(refused.failure().code, Code::data_loss);
  EXPECT_EQ(refused.failure().message, folder.path().string() + "/Cut: not a time zone file");
}

// The C library reads the same files with code of its own.
TEST(TimeZone, AgreesWithTheCLibraryInEveryInstalledZone) {
  const std::vector<std::string> names = TimeZone::installed();
  ASSERT_GT(names.size(), 400U);
  for (const std::string& name : names) {
    const auto mine = zone(name);
    ::setenv("TZ", (":" + name).c_str(), 1);
    ::tzset();
    // Steps that are no multiple of a day meet all hours.
    for (sys_seconds at = utc(1970, 1, 1); at < utc(2080, 1, 1); at += hours(24 * 11 + 7)) {
      const std::time_t time = at.time_since_epoch().count();
      std::tm shown{};
      ::localtime_r(&time, &shown);
      ASSERT_EQ(mine->offset_at(at).count(), shown.tm_gmtoff) << name << " at " << time;
    }
  }
  ::unsetenv("TZ");
  ::tzset();
}

}  // namespace
}  // namespace weir::base
