#include "stores/memory/snapshot.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include "stores/memory/crc64.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::OwnedCall;
using contract::spread_key;
using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);
constexpr SnapshotKeyId kKeyId = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-snapshot-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "buckets.snapshot";
  }
  ~SnapshotTest() override { std::filesystem::remove_all(folder_); }

  // One bucket of each algorithm, `cost` taken.
  void fill(MemoryStore& store, std::int64_t cost) {
    for (std::size_t i = 0; i < allowances_.size(); ++i) {
      ASSERT_TRUE(ask(store, Action::take, kStart, charge_of(spread_key(i), allowances_[i], cost)).admitted);
    }
  }

  std::string contents() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void patch(std::size_t at, char byte) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at)).put(byte);
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

  std::vector<Allowance> allowances_ = [] {
    std::vector<Allowance> all;
    for (int i = 0; i < kAlgorithmCount; ++i) all.push_back(allowance_of(static_cast<Algorithm>(i), 10, seconds(10)));
    return all;
  }();
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST(Crc64, IsTheOneItSaysItIs) {
  Crc64 sum;
  const char digits[] = "123456789";
  sum.update(std::as_bytes(std::span(digits, 9)));
  EXPECT_EQ(sum.value(), 0x995DC9BBDF1939FAu) << "the published check value of CRC-64/XZ";
}

TEST_F(SnapshotTest, ARestartFindsEveryBucketAsItWas) {
  MemoryStore before;
  fill(before, 4);
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".tmp"));

  MemoryStore after;
  const Result<LoadReport> loaded = load_snapshot(after, path_, kKeyId, kStart + seconds(1));
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  EXPECT_EQ(loaded.value().loaded, static_cast<std::size_t>(kAlgorithmCount));
  EXPECT_EQ(loaded.value().idle, 0u);
  EXPECT_EQ(loaded.value().no_room, 0u);
  for (std::size_t i = 0; i < allowances_.size(); ++i) {
    for (const std::int64_t cost : {0, 3, 9}) {
      const TimePoint now = kStart + seconds(1);
      const ChargeOutcome expected = ask(before, Action::peek, now, charge_of(spread_key(i), allowances_[i], cost));
      const ChargeOutcome got = ask(after, Action::peek, now, charge_of(spread_key(i), allowances_[i], cost));
      EXPECT_EQ(got.admitted, expected.admitted);
      EXPECT_EQ(got.remaining, expected.remaining);
      EXPECT_EQ(got.retry_after, expected.retry_after);
      EXPECT_EQ(got.reset_after, expected.reset_after);
    }
  }
}

TEST_F(SnapshotTest, BucketsThatAreIdleByNowAreNotLoadedAndThoseLoadedAreSweptLater) {
  MemoryStore before;
  fill(before, 4);
  const Allowance slow = allowance_of(Algorithm::gcra, 10, hours(10));
  ask(before, Action::take, kStart, charge_of(spread_key(100), slow, 1));
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  MemoryStore after;
  const Result<LoadReport> loaded = load_snapshot(after, path_, kKeyId, kStart + seconds(60));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().loaded, 1u);
  EXPECT_EQ(loaded.value().idle, static_cast<std::size_t>(kAlgorithmCount));
  EXPECT_EQ(after.sweep(kStart + hours(10), 100'000), 1u);
}

TEST_F(SnapshotTest, ARestartFindsEveryLeaseAsItWas) {
  const Allowance three = make_concurrency({.algorithm = {}, .limit = 3, .window = {}}, seconds(30)).value();
  Charge slot = charge_of(spread_key(1), three);
  slot.kind = ChargeKind::lease;
  const auto run = [&](MemoryStore& store, Action action, std::uint64_t id, TimePoint now) {
    HoldStep hold;
    hold.id = spread_key(id);
    hold.ttl = seconds(30);
    hold.named = true;
    OwnedCall call(action, now, {slot});
    call.hold = &hold;
    EXPECT_TRUE(store.begin(call));
    return hold;
  };
  MemoryStore before;
  const HoldStep first = run(before, Action::take, 10, kStart);
  run(before, Action::take, 11, kStart + seconds(5));
  run(before, Action::take, 12, kStart + seconds(5));
  run(before, Action::settle, 11, kStart + seconds(6));
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  MemoryStore after;
  ASSERT_EQ(load_snapshot(after, path_, kKeyId, kStart + seconds(10)).value().loaded, 1u);
  const HoldStep again = run(after, Action::take, 10, kStart + seconds(10));
  EXPECT_EQ(again.state, HoldState::live);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(run(after, Action::take, 11, kStart + seconds(10)).state, HoldState::gone);
  EXPECT_EQ(ask(after, Action::peek, kStart + seconds(29), slot).remaining, 1);
  EXPECT_EQ(ask(after, Action::peek, kStart + seconds(30), slot).remaining, 2);
  EXPECT_EQ(ask(after, Action::peek, kStart + seconds(35), slot).remaining, 3);
}

// A clock that was two hours ahead when the snapshot was written must not keep slots for two hours.
TEST_F(SnapshotTest, LeasesFromTheFutureLiveAsLongAsTheyWouldHave) {
  const Allowance one = make_concurrency({.algorithm = {}, .limit = 1, .window = {}}, seconds(30)).value();
  Charge slot = charge_of(spread_key(1), one);
  slot.kind = ChargeKind::lease;
  HoldStep hold;
  hold.id = spread_key(10);
  hold.ttl = seconds(30);
  MemoryStore before;
  OwnedCall call(Action::take, kStart + hours(2), {slot});
  call.hold = &hold;
  ASSERT_TRUE(before.begin(call));
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  MemoryStore after;
  EXPECT_EQ(load_snapshot(after, path_, kKeyId, kStart).value().moved_back, 1u);
  EXPECT_FALSE(ask(after, Action::peek, kStart + seconds(30) - Duration(1), slot).admitted);
  EXPECT_TRUE(ask(after, Action::peek, kStart + seconds(30), slot).admitted);
}

TEST_F(SnapshotTest, AnEmptyStoreRoundTrips) {
  MemoryStore store;
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  const Result<LoadReport> loaded = load_snapshot(store, path_, kKeyId, kStart);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().loaded, 0u);
}

TEST_F(SnapshotTest, ManyBucketsWithLongTailsRoundTrip) {
  MemoryStore before;
  const Allowance log = allowance_of(Algorithm::sliding_log, 5'000, hours(1));
  for (int entry = 0; entry < 2'500; ++entry) {
    for (std::uint64_t i = 0; i < 60; ++i) {
      ask(before, Action::take, kStart + Duration(entry), charge_of(spread_key(i), log));
    }
  }
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  MemoryStore after;
  const Result<LoadReport> loaded = load_snapshot(after, path_, kKeyId, kStart + seconds(1));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().loaded, 60u);
  EXPECT_EQ(after.stats().bytes, before.stats().bytes);
  for (std::uint64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(ask(after, Action::peek, kStart + seconds(1), charge_of(spread_key(i), log, 0)).remaining, 2'500);
  }
}

TEST_F(SnapshotTest, ASnapshotCutShortAnywhereIsRefusedWhole) {
  MemoryStore before;
  fill(before, 4);
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  const std::string whole = contents();
  MemoryStore after;
  for (std::size_t length = whole.size(); length-- > 0;) {
    std::filesystem::resize_file(path_, length);
    const Result<LoadReport> loaded = load_snapshot(after, path_, kKeyId, kStart);
    ASSERT_FALSE(loaded.ok()) << length;
    ASSERT_EQ(loaded.failure().code, Code::data_loss) << length;
    ASSERT_EQ(after.stats().keys, 0u) << length;
  }
  write(whole + '\0');
  EXPECT_EQ(load_snapshot(after, path_, kKeyId, kStart).failure().code, Code::data_loss);
  write(whole);
  EXPECT_TRUE(load_snapshot(after, path_, kKeyId, kStart).ok());
}

TEST_F(SnapshotTest, ADamagedBitAnywhereIsNoticedAndNothingIsLoaded) {
  MemoryStore before;
  fill(before, 4);
  ASSERT_TRUE(save_snapshot(before, path_, kKeyId).ok());
  const std::string whole = contents();
  MemoryStore after;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bits : {1 << (at % 8), 0xff}) {
      patch(at, static_cast<char>(whole[at] ^ bits));
      const Result<LoadReport> loaded = load_snapshot(after, path_, kKeyId, kStart);
      ASSERT_FALSE(loaded.ok()) << "byte " << at << ", bits " << bits;
      ASSERT_EQ(after.stats().keys, 0u);
    }
    patch(at, whole[at]);
  }
  EXPECT_TRUE(load_snapshot(after, path_, kKeyId, kStart).ok());
}

TEST_F(SnapshotTest, ASnapshotOfAnotherHashKeyIsRefused) {
  MemoryStore store;
  fill(store, 4);
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  SnapshotKeyId other = kKeyId;
  other[15] ^= 1;
  MemoryStore after;
  const Result<LoadReport> loaded = load_snapshot(after, path_, other, kStart);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().code, Code::failed_precondition);
  EXPECT_NE(loaded.failure().message.find("another hash key"), std::string::npos);
  EXPECT_EQ(after.stats().keys, 0u);
}

TEST_F(SnapshotTest, WhatIsNotASnapshotIsRefused) {
  MemoryStore store;
  EXPECT_EQ(load_snapshot(store, path_, kKeyId, kStart).failure().code, Code::not_found);
  write(std::string(100'000, 'x'));
  EXPECT_EQ(load_snapshot(store, path_, kKeyId, kStart).failure().code, Code::data_loss);
}

// Found by the fuzzer: the checksum was right, and the tail's address was later overwritten by a charge.
TEST_F(SnapshotTest, ATailWhereTheAlgorithmKeepsNoneIsRefused) {
  MemoryStore store;
  const Allowance allowance = allowance_of(Algorithm::sliding_log, 10, seconds(10));
  ASSERT_TRUE(ask(store, Action::take, kStart, charge_of(spread_key(1), allowance, 1)).admitted);
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  std::string bytes = contents();
  constexpr std::size_t kAlgorithmAt = 32 + 16;
  ASSERT_EQ(bytes[kAlgorithmAt], static_cast<char>(Algorithm::sliding_log));
  bytes[kAlgorithmAt] = static_cast<char>(Algorithm::token_bucket);
  Crc64 sum;
  sum.update(std::as_bytes(std::span(bytes).first(bytes.size() - 8)));
  const std::uint64_t right = sum.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &right, sizeof(right));
  write(bytes);
  MemoryStore after;
  const Result<LoadReport> loaded = load_snapshot(after, path_, kKeyId, kStart);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().code, Code::data_loss);
  EXPECT_NE(loaded.failure().message.find("keeps none"), std::string::npos);
}

TEST_F(SnapshotTest, ASnapshotOfAnotherVersionIsRefused) {
  MemoryStore store;
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  std::string bytes = contents();
  ++bytes[8];
  write(bytes);
  EXPECT_EQ(load_snapshot(store, path_, kKeyId, kStart).failure().code, Code::failed_precondition);
}

TEST_F(SnapshotTest, ASnapshotThatCannotBeWrittenLeavesTheLastOne) {
  MemoryStore store;
  fill(store, 4);
  EXPECT_EQ(save_snapshot(store, folder_ / "absent" / "x", kKeyId).failure().code, Code::unavailable);
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  const std::string good = contents();
  // Something that cannot be opened for writing is where the new one would be written.
  std::filesystem::create_directory(path_.string() + ".tmp");
  fill(store, 1);
  EXPECT_EQ(save_snapshot(store, path_, kKeyId).failure().code, Code::unavailable);
  EXPECT_EQ(contents(), good);
}

TEST_F(SnapshotTest, AFullDiskIsReportedAndLeavesTheLastSnapshot) {
  MemoryStore store;
  fill(store, 1);
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  const std::string good = contents();
  fill(store, 4);
  // The system ends a write that would make the file too long, as it ends one on a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status saved = save_snapshot(store, path_, kKeyId);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.failure().code, Code::unavailable);
  EXPECT_NE(saved.failure().message.find("cannot be written"), std::string::npos) << saved.failure().message;
  EXPECT_EQ(contents(), good);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".tmp"));
}

// What may be at the path by mistake. Opening a FIFO would wait for a peer, and renaming over a device replaces it.
class NoRegularFile : public SnapshotTest, public testing::WithParamInterface<const char*> {
 protected:
  void make(const std::filesystem::path& path) const {
    const std::string kind = GetParam();
    if (kind == "FIFO") {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    if (kind == "directory") std::filesystem::create_directory(path);
    if (kind == "device") std::filesystem::create_symlink("/dev/null", path);
    if (kind == "socket") {
      const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
      ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
      ::close(listener);
    }
  }
  static std::filesystem::file_type type(const std::filesystem::path& path) {
    return std::filesystem::symlink_status(path).type();
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, NoRegularFile, testing::Values("FIFO", "directory", "device", "socket"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(NoRegularFile, IsRefusedAsASnapshotWithoutWaitingAndLeftAlone) {
  make(path_);
  const auto before = type(path_);
  MemoryStore store;
  fill(store, 4);
  const Result<LoadReport> loaded = load_snapshot(store, path_, kKeyId, kStart);
  ASSERT_FALSE(loaded.ok());
  const Status saved = save_snapshot(store, path_, kKeyId);
  ASSERT_FALSE(saved.ok());
  for (const Failure& failure : {loaded.failure(), saved.failure()}) {
    EXPECT_EQ(failure.code, Code::invalid_argument);
    EXPECT_EQ(failure.message, path_.string() + ": is a " + GetParam() + ", expected a regular file");
  }
  EXPECT_EQ(type(path_), before);
}

// The name that a snapshot is written under before it is renamed: a leftover of a killed process is replaced, and what
// another process put there is neither waited for nor written to.
TEST_P(NoRegularFile, BesideTheSnapshotIsNotWrittenTo) {
  const std::filesystem::path beside = path_.string() + ".tmp";
  make(beside);
  MemoryStore store;
  fill(store, 4);
  const Status saved = save_snapshot(store, path_, kKeyId);
  EXPECT_EQ(saved.ok(), std::string(GetParam()) != "directory") << "a directory cannot be replaced by a file";
  EXPECT_EQ(std::filesystem::is_regular_file(path_), saved.ok());
  EXPECT_EQ(std::filesystem::exists(beside), !saved.ok());
}

TEST_F(SnapshotTest, ALeftoverOfAnInterruptedSnapshotIsReplaced) {
  std::ofstream(path_.string() + ".tmp") << std::string(100'000, 'x');
  MemoryStore store;
  fill(store, 4);
  ASSERT_TRUE(save_snapshot(store, path_, kKeyId).ok());
  EXPECT_TRUE(load_snapshot(store, path_, kKeyId, kStart).ok());
}

TEST_F(SnapshotTest, LoadingKeepsToTheMemoryBound) {
  MemoryStore large;
  const Allowance slow = allowance_of(Algorithm::gcra, 10, hours(10));
  for (std::uint64_t i = 0; i < 50'000; ++i) ask(large, Action::take, kStart, charge_of(spread_key(i), slow, 1));
  ASSERT_TRUE(save_snapshot(large, path_, kKeyId).ok());
  MemoryStore small({.max_bytes = std::size_t{1} << 20});
  const Result<LoadReport> loaded = load_snapshot(small, path_, kKeyId, kStart);
  ASSERT_TRUE(loaded.ok());
  EXPECT_GT(loaded.value().loaded, 5'000u);
  EXPECT_EQ(loaded.value().loaded + loaded.value().no_room, 50'000u);
  EXPECT_EQ(small.stats().keys, loaded.value().loaded);
  EXPECT_LE(small.stats().bytes, small.stats().max_bytes);
}

}  // namespace
}  // namespace weir::memory
