// Response: one answer, and how it is written on the wire.
//
// A Response only refers to its strings. Unless it says otherwise, an answer carries Cache-Control: no-store: a
// decision is about this moment.
#pragma once

#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir::http {

// Of an answer that was given before, to the same Idempotency-Key.
inline constexpr std::string_view kReplayedField = "Idempotent-Replayed: true\r\n";

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kProblemJson = "application/problem+json";

struct Response {
  int status = 200;
  std::string_view content_type = kJson;
  std::string_view fields{};  // further header fields, each "Name: value\r\n"
  std::string_view body{};
  std::string_view cache_control = "no-store";
  // How long a repeated request with the same Idempotency-Key gets this answer again, if it is not one with success: a
  // denial until its wait is over.
  Duration replay_for{0};
  // The client gets it this much later. Until then a repeated request is answered that there is no answer yet.
  Duration held_for{0};
};

// Sees an answer before it is written, even if the client has disconnected.
class ResponseRecorder {
 public:
  virtual ~ResponseRecorder() = default;
  virtual void record(const Response& response) = 0;
};

// What the request asks of the answer's form.
struct ResponseForm {
  bool head_only = false;  // to a HEAD request: everything but the body
  bool keep_alive = true;
  int minor_version = 1;
  Duration hold{0};  // the answer is written this long after it is ready
};

// "Too Many Requests" for 429.
std::string_view status_phrase(int status);

// `date` is a whole field, as DateField has it, or empty.
void append_response(std::string& out, const Response& response, const ResponseForm& form, std::string_view date = {});

// The head of an answer whose body ends with its connection. The body of `response` is not used.
void append_stream_head(std::string& out, const Response& response, std::string_view date = {});

// {"type":"about:blank","title":…,"status":…,"detail":…}, RFC 9457.
void append_problem(std::string& out, int status, std::string_view detail, std::string_view code = {});

}  // namespace weir::http
