#include "frontends/http/check_body.h"

#include <string>

#include "frontends/http/attribute_reader.h"
#include "frontends/http/json_body.h"
#include "weir/allowance.h"

namespace weir::http {
namespace {

constexpr std::string_view kPriorityName = "priority";

// Which members one request may have beside attributes, cost and priority.
struct Accepts {
  bool peek = false;
  bool wait_ms = false;
  bool report = false;  // outcome and duration_ms, and no cost
  bool reason = false;
};

enum CheckMember : unsigned {
  kCheckAttributes = 1,
  kCheckCost = 2,
  kPeek = 4,
  kPriorityMember = 8,
  kWaitMs = 16,
  kOutcome = 32,
  kDurationMs = 64,
  kReason = 128
};

unsigned member_of(std::string_view name, const Accepts& accepts) {
  if (name == "attributes") return kCheckAttributes;
  if (name == "cost" && !accepts.report) return kCheckCost;
  if (name == kPriorityName) return kPriorityMember;
  if (name == "peek" && accepts.peek) return kPeek;
  if (name == "wait_ms" && accepts.wait_ms) return kWaitMs;
  if (name == "outcome" && accepts.report) return kOutcome;
  if (name == "duration_ms" && accepts.report) return kDurationMs;
  if (name == "reason" && accepts.reason) return kReason;
  return 0;
}

}  // namespace

// One request's members. Appends to the body's attributes; `where` goes before every member's name in messages.
class CheckBody::Reader {
 public:
  Reader(CheckBody& body, Accepts accepts, const std::string& where)
      : body_(body), accepts_(accepts), attributes_(*body.json_, body.attributes_, where) {}

  Status read(ondemand::object object) {
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      ondemand::value value;
      if (auto error = field.value().get(value)) return bad(json_fault(error));
      const unsigned member = member_of(name, accepts_);
      if (member == 0) return fault(shown(name), "is not known here");
      if ((seen_ & member) != 0) return fault(shown(name), "is given twice");
      seen_ |= member;
      if (Status status = read_member(member, value); !status.ok()) return status;
    }
    if ((seen_ & kCheckAttributes) == 0) return fault("attributes", "is missing");
    if (accepts_.report && (seen_ & kOutcome) == 0) return fault("outcome", "is missing; expected failure or success");
    return finish();
  }

 private:
  Status fault(std::string_view member, std::string_view what) const { return attributes_.fault(member, what); }

  Status read_member(unsigned member, ondemand::value value) {
    switch (member) {
      case kCheckAttributes:
        return attributes_.read(value);
      case kCheckCost: {
        const std::string_view expected = "must be a whole number from 0 to 1000000000000";
        static_assert(kMaxUnits == 1'000'000'000'000);
        return read_whole(value, kMaxUnits, "cost", expected, request_.cost.units);
      }
      case kPeek:
        if (value.get_bool().get(request_.peek)) return fault("peek", "must be true or false");
        return success();
      case kPriorityMember:
        return read_priority(value);
      case kOutcome:
        return read_outcome(value);
      case kReason:
        return read_reason(value);
      case kDurationMs:
        static_assert(kMaxDurationMs == 3'600'000);
        return read_whole(value, kMaxDurationMs, "duration_ms", "must be a whole number from 0 to 3600000",
                          body_.duration_ms_);
      default:
        static_assert(kMaxWaitMs == 30'000);
        return read_whole(value, kMaxWaitMs, "wait_ms", "must be a whole number from 0 to 30000", body_.wait_ms_);
    }
  }

  Status read_whole(ondemand::value value, std::int64_t most, std::string_view member, std::string_view expected,
                    std::int64_t& out) {
    if (value.get_int64().get(out) || out < 0 || out > most) return fault(member, expected);
    return success();
  }

  Status read_outcome(ondemand::value value) {
    std::string_view outcome;
    if (read_string(value, outcome) || (outcome != "failure" && outcome != "success")) {
      return fault("outcome", "must be \"failure\" or \"success\"");
    }
    body_.success_ = outcome == "success";
    return success();
  }

  Status read_priority(ondemand::value value) {
    if (body_.json_->broken_in(value)) return fault(kPriorityName, "is not valid UTF-8");
    if (read_string(value, priority_)) return fault(kPriorityName, "must be a string");
    if (priority_.empty() || priority_.size() > kMaxPriority) return fault(kPriorityName, "must have 1 to 32 bytes");
    if (priority_.find('\0') != std::string_view::npos) return fault(kPriorityName, "must not contain NUL");
    return success();
  }

  Status read_reason(ondemand::value value) {
    if (body_.json_->broken_in(value)) return fault("reason", "is not valid UTF-8");
    if (read_string(value, body_.reason_)) return fault("reason", "must be a string");
    const std::size_t bytes = body_.reason_.size();
    static_assert(kMaxResetReason == 2'000);
    if (bytes == 0 || bytes > kMaxResetReason) return fault("reason", "must have 1 to 2000 bytes");
    if (body_.reason_.find('\0') != std::string_view::npos) return fault("reason", "must not contain NUL");
    return success();
  }

  // The priority becomes an attribute, so that rules can match it.
  Status finish() {
    if ((seen_ & kPriorityMember) != 0) {
      if (attributes_.has(kPriorityName)) return fault(kPriorityName, "is also among the attributes");
      if (Status status = attributes_.add(kPriorityName, priority_); !status.ok()) return status;
    }
    body_.requests_.push_back(request_);
    body_.attribute_ends_.push_back(body_.attributes_.size());
    return success();
  }

  CheckBody& body_;
  const Accepts accepts_;
  AttributeReader attributes_;
  unsigned seen_ = 0;
  Request request_;
  std::string_view priority_;
};

CheckBody::CheckBody() : json_(std::make_unique<JsonBody>()) {}
CheckBody::~CheckBody() = default;

template <typename Read>
Status CheckBody::read(std::string_view body, Read read_document) {
  attributes_.clear();
  attribute_ends_.clear();
  requests_.clear();
  wait_ms_ = duration_ms_ = 0;
  reason_ = {};
  Status status = json_->read(body, read_document);
  if (status.ok()) refer_to_attributes();
  return status;
}

Status CheckBody::read_check(std::string_view body) {
  const std::string where;
  return read(body, [&](ondemand::object object) {
    return Reader(*this, {.peek = true, .wait_ms = true}, where).read(object);
  });
}

Status CheckBody::read_refund(std::string_view body) {
  const std::string where;
  return read(body, [&](ondemand::object object) { return Reader(*this, {}, where).read(object); });
}

Status CheckBody::read_reset(std::string_view body) {
  const std::string where;
  return read(body, [&](ondemand::object object) { return Reader(*this, {.reason = true}, where).read(object); });
}

Status CheckBody::read_report(std::string_view body) {
  const std::string where;
  return read(body, [&](ondemand::object object) { return Reader(*this, {.report = true}, where).read(object); });
}

Status CheckBody::read_batch(std::string_view body) {
  return read(body, [&](ondemand::object object) -> Status {
    bool seen = false;
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      if (name != "requests") return bad(shown(name) + ": is not known here");
      if (seen) return bad("requests: is given twice");
      seen = true;
      ondemand::array list;
      if (field.value().get_array().get(list)) return bad("requests: must be an array");
      for (auto element : list) {
        const std::string where = "requests[" + std::to_string(requests_.size()) + "].";
        if (requests_.size() == kMaxBatch) return bad("requests: has more than 1000 elements");
        static_assert(kMaxBatch == 1'000);
        ondemand::object one;
        if (auto error = element.get_object().get(one)) {
          if (error != simdjson::INCORRECT_TYPE) return bad(json_fault(error));
          return bad(where.substr(0, where.size() - 1) + ": must be an object");
        }
        if (Status status = Reader(*this, {.peek = true, .wait_ms = false}, where).read(one); !status.ok())
          return status;
      }
    }
    return seen ? success() : bad("requests: is missing");
  });
}

// Only now: the list of attributes moves while it grows.
void CheckBody::refer_to_attributes() {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    requests_[i].attributes = {attributes_.data() + begin, attribute_ends_[i] - begin};
    begin = attribute_ends_[i];
  }
}

void CheckBody::set_ingress(TimePoint time) {
  for (Request& request : requests_) request.ingress = time;
}

void CheckBody::set_once(std::string_view once) {
  if (once.empty()) return;
  std::uint32_t part = 0;
  for (Request& request : requests_) {
    request.once_name = once;
    request.once_part = part++;
  }
}

void CheckBody::set_trace(const TraceContext* trace) {
  for (Request& request : requests_) request.trace = trace;
}

}  // namespace weir::http
