// Attributes from the command line: name=value words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/request.h"
#include "weir/result.h"

namespace weir::cli {

// Owns its texts; names may repeat, as in a Request.
class AttributeArgs {
 public:
  // The failure names the word that is wrong.
  static Result<AttributeArgs> parse(const std::vector<std::string>& words);

  // Refers to this object.
  std::vector<Attribute> attributes() const;
  // The body of POST /v1/check and, without `peek`, of /v1/refund.
  std::string check_body(std::int64_t cost, bool peek) const;
  // The body of POST /v1/reset.
  // `reason` may be empty.
  std::string reset_body(std::string_view reason) const;
  // "tenant=acme&action=export", percent-encoded.
  std::string query() const;
  // "attributes":{…}, a member of a JSON object.
  std::string members() const;
  // The same attributes with "{}" in every value replaced by `number`.
  AttributeArgs numbered(std::int64_t number) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace weir::cli
