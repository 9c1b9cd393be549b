// LogAttributes: a record of a log becomes the request that the server would have seen: identity (addresses, routes,
// headers that are logged) makes attributes of it, and so do mapped fields.
//
// Not thread-safe: keeps its memory between records.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "identity/identity.h"
#include "simulate/json_line.h"
#include "simulate/log_record.h"
#include "weir/request.h"
#include "weir/result.h"

namespace weir::simulate {

class LogAttributes {
 public:
  // What logs cannot have is left out of the options: tokens, and the attributes made from their claims. notes() says
  // so. The failure is that of Identity::create, or names a mapping.
  static Result<LogAttributes> create(identity::IdentityOptions options, std::vector<FieldMapping> mappings);

  // Null: request() is the record's. Else why the server would have refused it, or what is wrong with a mapped value.
  const char* identify(const LogRecord& record);
  // Good until the next call of identify().
  Request request() const { return Request(attributes_, cost_); }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Mapped {
    std::string field;
    std::string attribute;
  };

  LogAttributes() = default;
  const char* identify_request(const LogRecord& record);
  void add_address(const LogRecord& record);
  const char* add_mapped(const LogRecord& record);

  std::shared_ptr<const identity::Identity> identity_;
  int ipv4_prefix_ = 32;
  int ipv6_prefix_ = 64;
  std::vector<Mapped> mapped_;
  std::string cost_field_;  // of text formats, whose parsers know no mappings
  std::vector<std::string> notes_;

  std::vector<identity::HeaderField> headers_;
  identity::CallerAttributes caller_;
  std::string address_;
  std::string refusal_;
  std::vector<Attribute> attributes_;
  Cost cost_;
};

// "field=attribute". The failure says what is expected.
Result<FieldMapping> parse_mapping(const std::string& text);

}  // namespace weir::simulate
