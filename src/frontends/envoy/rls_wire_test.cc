// Requests and answers field by field, in the numbers of Envoy's ratelimit.proto; and the bounds of requests and units.
#include "frontends/envoy/rls_wire.h"

#include <gtest/gtest.h>

#include "base/protobuf_wire.h"
#include "weir/allowance.h"

namespace weir::envoy {
namespace {

using namespace std::chrono_literals;

// A message made of what `write` writes.
template <typename Write>
std::string message(Write write) {
  std::string out;
  base::WireWriter writer(out);
  write(writer);
  return out;
}

std::string entry(std::string_view key, std::string_view value) {
  return message([&](base::WireWriter& writer) {
    writer.put_bytes(1, key);
    writer.put_bytes(2, value);
  });
}

struct Read {
  bool good = false;
  RlsRequest request;
};
Read read(const std::string& bytes) {
  Read result;
  result.good = read_rls_request(bytes, result.request);
  return result;
}

std::string attributes_in(const RlsRequest& request, const RlsDescriptor& descriptor) {
  std::string text;
  for (const Attribute& each : request.attributes_of(descriptor)) {
    text += std::string(each.name) + "=" + std::string(each.value) + " ";
  }
  return text;
}

TEST(RlsWire, ReadsEveryFieldOfARequest) {
  const std::string limit = message([](base::WireWriter& writer) {
    writer.number(1, 42);
    writer.number(2, 3);
    writer.number(9, 1);
  });
  const std::string hits = message([](base::WireWriter& writer) {
    writer.number(1, 7);
    writer.number(2, 8);
  });
  const std::string first = message([&](base::WireWriter& writer) {
    writer.put_bytes(1, entry("k", "v"));
    writer.put_bytes(1, entry("l", ""));
  });
  const std::string second = message([&](base::WireWriter& writer) {
    writer.put_bytes(1, entry("m", "w"));
    writer.put_bytes(2, limit);
    writer.put_bytes(3, hits);
    writer.number(4, 1);
    writer.number(5, 1);
  });
  const std::string bytes = message([&](base::WireWriter& writer) {
    writer.put_bytes(1, "shop");
    writer.put_bytes(2, first);
    writer.put_bytes(2, second);
    writer.number(3, 5);
    writer.number(4, 6);
  });
  const auto [good, request] = read(bytes);
  ASSERT_TRUE(good);
  EXPECT_EQ(request.domain, "shop");
  EXPECT_EQ(request.hits_addend, 5U);
  ASSERT_EQ(request.descriptors.size(), 2U);
  const RlsDescriptor& plain = request.descriptors[0];
  EXPECT_EQ(plain.entries, 2U);
  EXPECT_FALSE(plain.has_hits || plain.has_override || plain.negative);
  EXPECT_EQ(attributes_in(request, plain), "domain=shop k=v l= ");
  const RlsDescriptor& full = request.descriptors[1];
  EXPECT_EQ(full.entries, 1U);
  EXPECT_TRUE(full.has_override);
  EXPECT_EQ(full.override_limit, 42U);
  EXPECT_EQ(full.override_unit, 3);
  EXPECT_TRUE(full.has_hits);
  EXPECT_EQ(full.hits, 7U);
  EXPECT_TRUE(full.negative);
  EXPECT_EQ(attributes_in(request, full), "domain=shop m=w ");
}

TEST(RlsWire, RefusesWhatIsBrokenAtEveryDepth) {
  EXPECT_TRUE(read("").good);
  const std::string cut("\x0a\x05x", 3);  // a text of five bytes that has one
  const auto inside = [](std::uint32_t field, const std::string& bytes) {
    return message([&](base::WireWriter& writer) { writer.put_bytes(field, bytes); });
  };
  EXPECT_FALSE(read(cut).good);
  EXPECT_FALSE(read(inside(2, cut)).good) << "a descriptor";
  EXPECT_FALSE(read(inside(2, inside(1, cut))).good) << "an entry";
  EXPECT_FALSE(read(inside(2, inside(2, cut))).good) << "an override";
  EXPECT_FALSE(read(inside(2, inside(3, cut))).good) << "hits";
  EXPECT_FALSE(read(inside(1, "\xff")).good) << "a domain that is not UTF-8";
  EXPECT_FALSE(read(inside(2, inside(1, entry("\xff", "v")))).good);
  EXPECT_FALSE(read(inside(2, inside(1, entry("k", "\xff")))).good);
  EXPECT_TRUE(read(inside(2, inside(1, entry("k", "v")))).good);
}

TEST(RlsWire, WritesEveryFieldOfAnAnswer) {
  RlsAnswer answer;
  answer.over_limit = true;
  RlsStatus limited;
  limited.over_limit = true;
  limited.has_limit = true;
  limited.limit = 100;
  limited.unit = RlsUnit::minute;
  limited.name = "search";
  limited.remaining = 9;
  limited.has_reset = true;
  limited.reset_after = 30s;
  answer.statuses = {limited, RlsStatus{}};
  answer.header(RlsHeader::retry_after) = "30";
  answer.header(RlsHeader::legacy_reset) = "31";
  answer.body = "no";
  answer.weir_status = "403";
  const auto header = [](std::string_view name, std::string_view value) {
    return message([&](base::WireWriter& writer) {
      writer.text(1, name);
      writer.text(2, value);
    });
  };
  const std::string expected = message([&](base::WireWriter& writer) {
    writer.number(1, 2);
    writer.put_bytes(2, message([](base::WireWriter& status) {
                       status.number(1, 2);
                       status.put_bytes(2, message([](base::WireWriter& limit) {
                                          limit.number(1, 100);
                                          limit.number(2, 2);
                                          limit.text(3, "search");
                                        }));
                       status.number(3, 9);
                       status.put_bytes(4, message([](base::WireWriter& duration) { duration.number(1, 30); }));
                     }));
    writer.put_bytes(2, message([](base::WireWriter& status) { status.number(1, 1); }));
    writer.put_bytes(3, header("Retry-After", "30"));
    writer.put_bytes(3, header(kRlsHeaderNames.back(), "31"));
    writer.put_bytes(3, header("Weir-Status", "403"));
    writer.text(5, "no");
  });
  std::string out = "before";
  write_rls_answer(out, answer);
  EXPECT_EQ(out, "before" + expected);
  out.clear();
  answer.clear();
  write_rls_answer(out, answer);
  EXPECT_EQ(out, message([](base::WireWriter& writer) { writer.number(1, 1); }));
}

// A request with so many descriptors of so many entries.
RlsRequest request_of(std::size_t descriptors, std::size_t entries, bool has_override = false) {
  RlsRequest request;
  request.domain = "shop";
  for (std::size_t i = 0; i < descriptors; ++i) {
    RlsDescriptor descriptor;
    descriptor.first = request.attributes.size();
    descriptor.entries = entries;
    descriptor.has_override = has_override;
    descriptor.override_unit = 1;
    request.attributes.resize(request.attributes.size() + 1 + entries, Attribute{"k", "v"});
    request.descriptors.push_back(descriptor);
  }
  request.spread_domain();
  return request;
}

TEST(RlsRequest, PassesUpToItsBounds) {
  EXPECT_TRUE(request_of(1, 0).check().ok());
  EXPECT_FALSE(request_of(0, 0).check().ok());
  EXPECT_TRUE(request_of(kMaxDescriptors, 1).check().ok());
  EXPECT_FALSE(request_of(kMaxDescriptors + 1, 1).check().ok());
  EXPECT_TRUE(request_of(1, kMaxAttributes - 1).check().ok());
  EXPECT_EQ(request_of(1, kMaxAttributes).check().failure().message, "a descriptor has more than 63 entries");
  EXPECT_TRUE(request_of(1, 31, true).check().ok());
  EXPECT_EQ(request_of(1, 32, true).check().failure().message, "a descriptor has more than 31 entries");
  RlsRequest nowhere = request_of(1, 1);
  nowhere.domain = {};
  EXPECT_FALSE(nowhere.check().ok());
}

TEST(RlsRequest, UnitsOfOverridesAreSecondToYear) {
  for (const std::int32_t unit : {1, 2, 3, 4, 5, 6}) {
    RlsRequest request = request_of(1, 1, true);
    request.descriptors[0].override_unit = unit;
    EXPECT_TRUE(request.check().ok()) << unit;
  }
  for (const std::int32_t unit : {-1, 0, 7, 8}) {
    RlsRequest request = request_of(2, 1, true);
    request.descriptors[1].override_unit = unit;
    EXPECT_FALSE(request.check().ok()) << unit;
    request.descriptors[1].has_override = false;
    EXPECT_TRUE(request.check().ok()) << "only an override has a unit";
  }
}

TEST(RlsRequest, KeysMayBeEmptyAndAreBoundedLikeValues) {
  const auto with = [](std::string_view key, std::string_view value) {
    RlsRequest request = request_of(1, 1);
    request.attributes[1] = {key, value};
    return request.check().ok() ? std::string() : request.check().failure().message;
  };
  EXPECT_EQ(with("", ""), "");
  EXPECT_TRUE(with(std::string(100'000, 'k'), "v").starts_with("a descriptor key "));
  EXPECT_TRUE(with("k", std::string(100'000, 'v')).starts_with("a descriptor value "));
}

TEST(RlsUnits, AreEnvoysNumbersNamesAndLengths) {
  const struct {
    int number;
    const char* name;
    Duration window;
  } kUnits[] = {{0, "UNKNOWN", 0s}, {1, "SECOND", 1s},  {2, "MINUTE", 1min},    {3, "HOUR", 1h},
                {4, "DAY", 24h},    {5, "MONTH", 720h}, {6, "YEAR", 24h * 365}, {7, "WEEK", 168h}};
  for (const auto& [number, name, window] : kUnits) {
    const auto unit = static_cast<RlsUnit>(number);
    EXPECT_EQ(unit_name(unit), name);
    EXPECT_EQ(unit_window(unit), window);
    EXPECT_EQ(unit_of(window), unit);
  }
  EXPECT_EQ(unit_of(2s), RlsUnit::unknown);
}

TEST(RlsRefusals, NameTheDescriptorAndTheStatusOfTheApi) {
  const RlsAnswer malformed = refusal_answer({.descriptor = 1, .malformed = true}, 3);
  EXPECT_TRUE(malformed.over_limit);
  ASSERT_EQ(malformed.statuses.size(), 3U);
  EXPECT_FALSE(malformed.statuses[0].over_limit);
  EXPECT_TRUE(malformed.statuses[1].over_limit);
  EXPECT_FALSE(malformed.statuses[2].over_limit);
  EXPECT_EQ(malformed.weir_status, "400");
  EXPECT_EQ(refusal_answer({}, 1).weir_status, "403");
}

}  // namespace
}  // namespace weir::envoy
