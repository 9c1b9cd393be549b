// RequestView: a request whose attribute names have been resolved, as the parts of a compiled rule see it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rules/compile/rule_set.h"
#include "weir/request.h"

namespace weir::rules {

// A set of names as bits: exact for the first 64 names, a first sieve beyond.
inline std::uint64_t name_bit(NameId id) { return std::uint64_t{1} << (id & 63); }

struct RequestView {
  const Request& request;
  const NameId* ids;          // one for each attribute
  std::uint64_t carried = 0;  // name_bit of every known name

  std::size_t size() const { return request.attributes.size(); }
  std::span<const NameId> names() const { return {ids, size()}; }
  std::string_view value(std::size_t i) const { return request.attributes[i].value; }

  // Null when the request does not carry the name.
  const Attribute* first(NameId name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (ids[i] == name) return &request.attributes[i];
    }
    return nullptr;
  }
};

}  // namespace weir::rules
