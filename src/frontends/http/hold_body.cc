#include "frontends/http/hold_body.h"

#include <string>

#include "frontends/http/attribute_reader.h"
#include "frontends/http/check_body.h"
#include "frontends/http/json_body.h"
#include "weir/allowance.h"
#include "weir/hold.h"

namespace weir::http {
namespace {

enum Member : unsigned {
  kAttributes = 1,
  kCost = 2,
  kPriority = 4,
  kId = 8,
  kTtl = 16,
  kAmount = 32,
  kEstimate = 64,
  kPartial = 128,
  kDryRun = 256,
  kActual = 512,
  kAdd = 1024,
};

struct MemberName {
  std::string_view name;
  Member member;
};
constexpr MemberName kMembers[] = {
    {"attributes", kAttributes},
    {"cost", kCost},
    {"priority", kPriority},
    {"id", kId},
    {"ttl_ms", kTtl},
    {"amount", kAmount},
    {"estimate", kEstimate},
    {"partial", kPartial},
    {"dry_run", kDryRun},
    {"actual", kActual},
    {"add", kAdd},
};

constexpr unsigned kRequest = kAttributes | kCost | kPriority;

unsigned member_of(std::string_view name, unsigned accepted) {
  for (const MemberName& each : kMembers) {
    if (each.name == name) return each.member & accepted;
  }
  return 0;
}

std::string_view name_of(unsigned member) {
  for (const MemberName& each : kMembers) {
    if (each.member == member) return each.name;
  }
  return {};
}

constexpr std::string_view kUnitsExpected = "must be a whole number from 0 to 1000000000000";
static_assert(kMaxUnits == 1'000'000'000'000);
constexpr std::string_view kTtlExpected = "must be a whole number of milliseconds from 10 to 86400000 (24 h)";
static_assert(kMinHoldTtl == std::chrono::milliseconds(10) && kMaxHoldTtl == std::chrono::milliseconds(86'400'000));

}  // namespace

class HoldBody::Reader {
 public:
  Reader(HoldBody& body, unsigned accepted, const std::string& where)
      : body_(body), accepted_(accepted), attributes_(*body.json_, body.attributes_, where) {}

  Status read(ondemand::object object, unsigned required) {
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      ondemand::value value;
      if (auto error = field.value().get(value)) return bad(json_fault(error));
      const unsigned member = member_of(name, accepted_);
      if (member == 0) return fault(shown(name), "is not known here");
      if ((seen_ & member) != 0) return fault(shown(name), "is given twice");
      seen_ |= member;
      if (Status status = read_member(member, value); !status.ok()) return status;
    }
    if (const unsigned missing = required & ~seen_; missing != 0) {
      return fault(name_of(missing & (~missing + 1)), "is missing");
    }
    return finish();
  }

 private:
  Status fault(std::string_view member, std::string_view what) const { return attributes_.fault(member, what); }

  Status read_member(unsigned member, ondemand::value value) {
    switch (member) {
      case kAttributes:
        return attributes_.read(value);
      case kCost:
        return read_units(value, "cost", body_.request.cost.units);
      case kActual:
        return read_units(value, "actual", body_.actual);
      case kAmount:
      case kAdd:
        return read_units(value, name_of(member), body_.amount.emplace());
      case kTtl: {
        std::int64_t ms = 0;
        if (value.get_int64().get(ms) || ms < ceil_ms(kMinHoldTtl) || ms > ceil_ms(kMaxHoldTtl))
          return fault("ttl_ms", kTtlExpected);
        body_.ttl = std::chrono::milliseconds(ms);
        return success();
      }
      case kPartial:
        if (value.get_bool().get(body_.partial)) return fault("partial", "must be true or false");
        return success();
      case kDryRun:
        if (value.get_bool().get(body_.dry_run)) return fault("dry_run", "must be true or false");
        return success();
      case kPriority:
        return read_text(value, "priority", kMaxPriority, priority_);
      case kId:
        return read_text(value, "id", kMaxHoldId, body_.id);
      default: {
        std::string_view how;
        if (read_string(value, how) || how != "auto") return fault("estimate", "must be \"auto\"");
        return success();
      }
    }
  }

  Status read_units(ondemand::value value, std::string_view member, std::int64_t& out) const {
    if (value.get_int64().get(out) || out < 0 || out > kMaxUnits) return fault(member, kUnitsExpected);
    return success();
  }

  Status read_text(ondemand::value value, std::string_view member, std::size_t most, std::string_view& out) const {
    if (body_.json_->broken_in(value)) return fault(member, "is not valid UTF-8");
    if (read_string(value, out)) return fault(member, "must be a string");
    if (out.empty() || out.size() > most) return fault(member, "must have 1 to " + std::to_string(most) + " bytes");
    if (out.find('\0') != std::string_view::npos) return fault(member, "must not contain NUL");
    return success();
  }

  Status finish() {
    if ((seen_ & kAmount) != 0 && (seen_ & kEstimate) != 0) return fault("estimate", "cannot be combined with amount");
    if ((accepted_ & kEstimate) != 0 && (seen_ & (kAmount | kEstimate)) == 0) {
      return fault("amount", "is missing; give the units to reserve, or \"estimate\":\"auto\"");
    }
    if ((seen_ & kPriority) == 0) return success();
    if (attributes_.has("priority")) return fault("priority", "is also among the attributes");
    return attributes_.add("priority", priority_);
  }

  HoldBody& body_;
  const unsigned accepted_;
  AttributeReader attributes_;
  unsigned seen_ = 0;
  std::string_view priority_;
};

HoldBody::HoldBody() : json_(std::make_unique<JsonBody>()) {}
HoldBody::~HoldBody() = default;

Status HoldBody::read(std::string_view body, unsigned accepted, unsigned required) {
  request = {};
  id = {};
  ttl = Duration::zero();
  amount.reset();
  actual = 0;
  partial = dry_run = false;
  attributes_.clear();
  if (body.empty() && required == 0) return success();
  const std::string where;
  Status status =
      json_->read(body, [&](ondemand::object object) { return Reader(*this, accepted, where).read(object, required); });
  if (status.ok()) request.attributes = attributes_;
  return status;
}

Status HoldBody::read_acquire(std::string_view body) { return read(body, kRequest | kId | kTtl, kAttributes); }
Status HoldBody::read_renew(std::string_view body) { return read(body, kTtl, 0); }
Status HoldBody::read_reserve(std::string_view body) {
  return read(body, kRequest | kId | kTtl | kAmount | kEstimate | kPartial | kDryRun, kAttributes);
}
Status HoldBody::read_commit(std::string_view body) { return read(body, kActual, kActual); }
Status HoldBody::read_extend(std::string_view body) {
  if (Status status = read(body, kTtl | kAdd | kPartial, 0); !status.ok()) return status;
  if (ttl == Duration::zero() && !amount) return bad("ttl_ms: is missing; give ttl_ms, add or both");
  return success();
}
Status HoldBody::read_nothing(std::string_view body) { return read(body, 0, 0); }

std::string_view HoldBody::attribute(std::string_view name) const {
  for (const Attribute& each : request.attributes) {
    if (each.name == name) return each.value;
  }
  return {};
}

}  // namespace weir::http
