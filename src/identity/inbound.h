// Inbound: a caller's request as a front end saw it, and CallerAttributes: what identity makes of it.
//
// An Inbound only refers to its texts. CallerAttributes owns its values and keeps its memory between requests: use one
// per connection or loop, not from two threads.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "identity/known_keys.h"
#include "weir/request.h"

namespace weir::identity {

struct HeaderField {
  std::string_view name;  // in any case
  std::string_view value;
};

struct Inbound {
  std::string_view method;
  std::string_view target;  // path and query
  std::span<const HeaderField> headers;
  std::optional<base::IpAddress> peer;  // absent on a Unix socket
  std::string_view host = {};           // of the Host field
  std::string_view scheme = {};         // empty: not known
  // What a gateway says itself, beside the headers that it passes on: it replaces the header of its name, also with
  // an empty value.
  std::span<const HeaderField> gateway_fields = {};
};

class CallerAttributes {
 public:
  // Names belong to the Identity that filled this, values to this object; both until the next fill.
  std::span<const Attribute> attributes() const { return attributes_; }
  Cost cost() const { return cost_; }
  // The value of the first attribute of that name, or nothing.
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  friend class Identity;

  struct Piece {
    std::string_view name;
    std::size_t start;
    std::size_t length;
  };

  void clear();
  // False if there are too many attributes or the value is one that no attribute may have.
  bool add(std::string_view name, std::string_view value);
  // The same in place of what was added under that name.
  bool set(std::string_view name, std::string_view value);
  // The values lie in one text that moves while it grows, so views of it are made last.
  void finish(Cost cost);

  std::string text_;
  std::vector<Piece> pieces_;
  std::vector<Attribute> attributes_;
  Cost cost_;
  std::shared_ptr<const KnownKeys> keys_;  // which some names belong to
};

}  // namespace weir::identity
