#include "frontends/http/usage_body.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "frontends/http/attribute_reader.h"
#include "frontends/http/json_body.h"
#include "weir/allowance.h"
#include "weir/hold.h"

namespace weir::http {
namespace {

constexpr std::string_view kUsageUnits = "must be a whole number from 0 to 1000000000000";
constexpr std::string_view kMoment = "must be a time such as 2026-03-01T12:00:00Z";

// `count` digits.
bool take_digits(std::string_view& text, std::size_t count, int& number) {
  if (text.size() < count) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, number);
  if (error != std::errc() || end != text.data() + count || text.front() == '-') return false;
  text.remove_prefix(count);
  return true;
}

bool take_sign(std::string_view& text, char sign) {
  if (text.empty() || text.front() != sign) return false;
  text.remove_prefix(1);
  return true;
}

// Members that may be given once; others are refused or not needed.
constexpr std::string_view kReportMembers[] = {"attributes", "amount", "id", "at"};
constexpr std::string_view kEventMembers[] = {"specversion", "source", "id", "time", "data"};

unsigned bit_of(std::span<const std::string_view> names, std::string_view name) {
  const auto place = std::find(names.begin(), names.end(), name);
  return place == names.end() ? 0 : 1U << (place - names.begin());
}

// Whether an object has had a member; `seen` has a bit for each of `names`.
bool given(std::span<const std::string_view> names, std::string_view name, unsigned seen) {
  return (bit_of(names, name) & seen) != 0;
}
bool given_again(std::span<const std::string_view> names, std::string_view name, unsigned& seen) {
  return given(names, name, std::exchange(seen, seen | bit_of(names, name)));
}

bool is_type(std::string_view content_type, std::string_view type) {
  return base::same_ignoring_case(base::trimmed(content_type.substr(0, content_type.find(';'))), type);
}

}  // namespace

std::optional<TimePoint> parse_moment(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool date = take_digits(text, 4, year) && take_sign(text, '-') && take_digits(text, 2, month) &&
                    take_sign(text, '-') && take_digits(text, 2, day) && (take_sign(text, 'T') || take_sign(text, 't'));
  if (!date) return std::nullopt;
  const bool time = take_digits(text, 2, hour) && take_sign(text, ':') && take_digits(text, 2, minute) &&
                    take_sign(text, ':') && take_digits(text, 2, second);
  const std::chrono::year_month_day on{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                       std::chrono::day(static_cast<unsigned>(day))};
  if (!time || !on.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  std::int64_t fraction = 0;
  if (take_sign(text, '.')) {
    std::int64_t unit = 100'000;
    const std::size_t before = text.size();
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), unit /= 10) {
      fraction += unit * (text.front() - '0');
    }
    if (text.size() == before) return std::nullopt;
  }
  Duration offset{0};
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    const int sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
    int hours = 0, minutes = 0;
    if (!take_digits(text, 2, hours) || !take_sign(text, ':') || !take_digits(text, 2, minutes)) return std::nullopt;
    if (hours > 23 || minutes > 59) return std::nullopt;
    offset = sign * (std::chrono::hours(hours) + std::chrono::minutes(minutes));
  } else if (!take_sign(text, 'Z') && !take_sign(text, 'z')) {
    return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return TimePoint(std::chrono::sys_days(on)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + Duration(fraction) - offset;
}

class UsageBody::Reader {
 public:
  Reader(UsageBody& body, std::string where)
      : body_(body), where_(std::move(where)), attributes_(*body.json_, body.attributes_.emplace_back(), where_) {}

  // What has happened: {"attributes":…,"amount":…}, and with `alone` also id and at.
  Status read_report(ondemand::object object, bool alone) {
    unsigned seen = 0;
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      ondemand::value value;
      if (auto error = field.value().get(value)) return bad(json_fault(error));
      if (given_again(kReportMembers, name, seen)) return fault(name, "is given twice");
      Status status = success();
      if (name == "attributes") {
        status = attributes_.read(value);
      } else if (name == "amount") {
        std::int64_t amount = 0;
        if (value.get_int64().get(amount) || amount < 0 || amount > kMaxUnits) return fault("amount", kUsageUnits);
        report_.amount = amount;
      } else if (alone && name == "id") {
        status = read_text(value, "id", id_);
      } else if (alone && name == "at") {
        status = read_moment(value, "at");
      } else {
        return fault(shown(name), "is not known here");
      }
      if (!status.ok()) return status;
    }
    if (!given(kReportMembers, "attributes", seen)) return fault("attributes", "is missing");
    return success();
  }

  // A CloudEvent in JSON. Members that we do not need are allowed: the format has extensions.
  Status read_event(ondemand::object object) {
    std::string_view version;
    std::string_view source;
    std::string_view event_id;
    unsigned seen = 0;
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      ondemand::value value;
      if (auto error = field.value().get(value)) return bad(json_fault(error));
      if (given_again(kEventMembers, name, seen)) return fault(name, "is given twice");
      Status status = success();
      if (name == "specversion") status = read_text(value, "specversion", version);
      if (name == "source") status = read_text(value, "source", source);
      if (name == "id") status = read_text(value, "id", event_id);
      if (name == "time") status = read_moment(value, "time");
      if (name == "data") {
        ondemand::object data;
        if (value.get_object().get(data)) return fault("data", "must be an object with attributes and amount");
        status = read_report(data, /*alone=*/false);
      }
      if (!status.ok()) return status;
    }
    if (version != "1.0") return fault("specversion", "must be \"1.0\"");
    if (source.empty()) return fault("source", "is missing");
    if (event_id.empty()) return fault("id", "is missing");
    if (!given(kEventMembers, "data", seen)) return fault("data", "is missing");
    keep_id(std::string(source) + "\n" + std::string(event_id));
    return success();
  }

  void finish() {
    if (!id_.empty()) keep_id(std::string(id_));
    report_.request.attributes = body_.attributes_.back();
    body_.reports_.push_back(report_);
  }

 private:
  Status fault(std::string_view member, std::string_view what) const { return attributes_.fault(member, what); }

  Status read_text(ondemand::value value, std::string_view member, std::string_view& out) const {
    if (body_.json_->broken_in(value)) return fault(member, "is not valid UTF-8");
    if (read_string(value, out)) return fault(member, "must be a string");
    if (out.empty() || out.size() > kMaxHoldId) {
      return fault(member, "must have 1 to " + std::to_string(kMaxHoldId) + " bytes");
    }
    return success();
  }

  Status read_moment(ondemand::value value, std::string_view member) {
    std::string_view text;
    if (read_string(value, text)) return fault(member, kMoment);
    const std::optional<TimePoint> at = parse_moment(text);
    if (!at) return fault(member, kMoment);
    report_.at = *at;
    return success();
  }

  void keep_id(std::string id) {
    body_.ids_.push_back(std::make_unique<std::string>(std::move(id)));
    report_.id = *body_.ids_.back();
  }

  UsageBody& body_;
  const std::string where_;
  AttributeReader attributes_;
  UsageReport report_;
  std::string_view id_;
};

UsageBody::UsageBody() : json_(std::make_unique<JsonBody>()) {}
UsageBody::~UsageBody() = default;

// Precondition: reports_ has the events before these.
template <typename Events>
Status UsageBody::read_events(Events& events) {
  for (auto each : events) {
    if (reports_.size() == kMaxUsageEvents) return bad("the batch has more than 1000 events");
    ondemand::object event;
    const std::string where = "[" + std::to_string(reports_.size()) + "].";
    if (each.get_object().get(event)) return bad(where + " must be a CloudEvent");
    Reader reader(*this, where);
    if (Status status = reader.read_event(event); !status.ok()) return status;
    reader.finish();
  }
  return success();
}

Status UsageBody::read(std::string_view content_type, std::string_view body) {
  reports_.clear();
  attributes_.clear();
  attributes_.reserve(kMaxUsageEvents + 1);  // so that none moves
  ids_.clear();
  if (is_type(content_type, "application/cloudevents-batch+json")) {
    text_ = "{\"events\":" + std::string(body) + "}";
    return json_->read(text_, [&](ondemand::object object) -> Status {
      // The only member. A loop, because the reader expects that the object has been read to its end.
      for (auto member : object) {
        ondemand::array events;
        if (member.value().get_array().get(events)) return bad("the body must be an array of CloudEvents");
        if (Status status = read_events(events); !status.ok()) return status;
      }
      return success();
    });
  }
  const bool event = is_type(content_type, "application/cloudevents+json");
  return json_->read(body, [&](ondemand::object object) -> Status {
    Reader reader(*this, "");
    if (Status status = event ? reader.read_event(object) : reader.read_report(object, true); !status.ok()) {
      return status;
    }
    reader.finish();
    return success();
  });
}

}  // namespace weir::http
