// JsonWriter: makes the JSON of answers.
//
//   JsonWriter out;
//   out.begin_object();
//   out.member("id", id);
//   out.member("created_at", at);            // a time: RFC 3339 with milliseconds
//   out.member("expires_at", maybe);         // an empty optional: null
//   out.begin_array("items");  …  out.end_array();
//   out.end_object();
//   send(out.take());
//
// Commas are put where they belong. Every text is escaped. A value; not thread-safe.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/json_text.h"
#include "observe/log.h"
#include "weir/time.h"

namespace weir::admin {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void begin_object(std::string_view name) { open_member(name, '{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void begin_array(std::string_view name) { open_member(name, '['); }
  void end_array() { close(']'); }

  template <typename T>
  void member(std::string_view name, const T& given) {
    begin_member(name);
    append(given);
  }
  // Already JSON; empty: null.
  void raw_member(std::string_view name, std::string_view json) {
    begin_member(name);
    text_ += json.empty() ? std::string_view("null") : json;
  }
  void null_member(std::string_view name) { raw_member(name, "null"); }
  // An entry of an array.
  template <typename T>
  void value(const T& given) {
    separate();
    append(given);
  }
  void raw_value(std::string_view json) {
    separate();
    text_ += json;
  }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (std::exchange(needs_comma_, true)) text_ += ',';
  }
  void begin_member(std::string_view name) {
    separate();
    base::append_json_string(text_, name);
    text_ += ':';
  }
  void open(char bracket) {
    separate();
    text_ += bracket;
    needs_comma_ = false;
  }
  void open_member(std::string_view name, char bracket) {
    begin_member(name);
    text_ += bracket;
    needs_comma_ = false;
  }
  void close(char bracket) {
    text_ += bracket;
    needs_comma_ = true;
  }

  void append(std::string_view given) { base::append_json_string(text_, given); }
  void append(const std::string& given) { base::append_json_string(text_, given); }
  void append(const char* given) { base::append_json_string(text_, given); }
  void append(bool given) { text_ += given ? "true" : "false"; }
  void append(std::integral auto given) { text_ += std::to_string(given); }
  void append(TimePoint given) { text_ += '"' + observe::rfc3339(given) + '"'; }
  void append(double given) {
    if (!std::isfinite(given)) given = 0;  // which JSON cannot say
    char digits[32];
    text_.append(digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%.6g", given)));
  }
  template <typename T>
  void append(const std::optional<T>& given) {
    if (given) {
      append(*given);
    } else {
      text_ += "null";
    }
  }

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace weir::admin
