// AttributeReader: the member "attributes" of a JSON body, read strictly. Names and values are within the bounds of
// weir/request.h, valid UTF-8 and without NUL; numbers and booleans become text. Not thread-safe; for one object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/http/json_body.h"
#include "weir/request.h"

namespace weir::http {

class AttributeReader {
 public:
  // Appends to `attributes`, which refer to the body. `where` goes before every member's name in messages.
  AttributeReader(const JsonBody& body, std::vector<Attribute>& attributes, const std::string& where)
      : body_(body), attributes_(attributes), where_(where), first_(attributes.size()) {}

  Status read(ondemand::value value);
  // One that the body gives elsewhere.
  Status add(std::string_view name, std::string_view value);
  bool has(std::string_view name) const;

  // "attributes: must be an object"
  Status fault(std::string_view member, std::string_view what) const {
    return bad(where_ + std::string(member) + ": " + std::string(what));
  }

 private:
  Status check_name(std::string_view name) const;
  Status attribute_fault(std::string_view name, std::string_view what) const;
  Status read_values(std::string_view name, ondemand::value held);
  Status read_value(std::string_view name, ondemand::value held);
  Status read_other_value(std::string_view name, ondemand::value held);

  const JsonBody& body_;
  std::vector<Attribute>& attributes_;
  const std::string& where_;
  const std::size_t first_;  // this object's first attribute
};

}  // namespace weir::http
