// UsageBody: the bodies of /v1/usage, read strictly: one report, one CloudEvent, or a batch of CloudEvents.
//
// Not thread-safe: one for each loop. What was read refers to it and is valid until the next read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"
#include "weir/usage.h"

namespace weir::http {

class JsonBody;

inline constexpr std::size_t kMaxUsageEvents = 1'000;

class UsageBody {
 public:
  UsageBody();
  ~UsageBody();

  // By the Content-Type: application/json, application/cloudevents+json, application/cloudevents-batch+json.
  //   {"attributes":{…},"amount":3,"id":"job-17","at":"2026-03-01T12:00:00Z"}
  //   {"specversion":"1.0","id":"17","source":"/jobs","type":"…","time":"…","data":{"attributes":{…},"amount":3}}
  // A CloudEvent's id is its source and id together.
  Status read(std::string_view content_type, std::string_view body);

  const std::vector<UsageReport>& reports() const { return reports_; }

 private:
  class Reader;

  template <typename Events>
  Status read_events(Events& events);

  std::unique_ptr<JsonBody> json_;
  std::string text_;
  std::vector<UsageReport> reports_;
  std::vector<std::vector<Attribute>> attributes_;  // of the reports
  std::vector<std::unique_ptr<std::string>> ids_;
};

// "2026-03-01T12:00:00Z", with a fraction or an offset if need be. Nothing: not that.
std::optional<TimePoint> parse_moment(std::string_view text);

}  // namespace weir::http
