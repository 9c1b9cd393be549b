// What HAProxy asks: the arguments of a NOTIFY frame's messages become the attributes of one request.
//
//   args ip=src method=method path=path host=req.hdr(host) cost=int(1)
//
// An argument's name is the attribute's; `src` is taken for `ip`. `cost` and `peek` set the request's and are no
// attributes. Numbers become decimal text, booleans true or false, addresses their canonical text (a mapped IPv4
// address that of IPv4); an argument without a value, such as a header that is absent, is no attribute. Messages of one
// frame are one request.
//
// Not thread-safe: holds the attributes and their texts until the next read().
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "frontends/spop/wire.h"
#include "weir/request.h"

namespace weir::frontends::spop {

class NotifyReader {
 public:
  enum class Found {
    request,
    // Well-formed, but over a bound or with a cost that is none. Such values can come from a client's headers, so the
    // answer concerns one stream and not the connection that carries all of them.
    unacceptable,
    malformed,
  };

  // The request refers to `payload` and to this object.
  Found read(std::string_view payload, Request& request);

 private:
  bool take(std::string_view name, const Value& value, Request& request);
  std::string_view text_of(const Value& value);

  std::array<Attribute, kMaxAttributes> attributes_;
  std::size_t count_ = 0;
  std::string rendered_;  // grown before use, so that views into it stay good
};

}  // namespace weir::frontends::spop
