// What HAProxy asks: the arguments of a NOTIFY frame's messages become the attributes of one request.
//
//   args ip=src method=method path=path host=req.hdr(host) cost=int(1)
//
// An argument's name is the attribute's; `src` becomes `ip`. `cost` and `peek` set the request's and are not
// attributes. Values become texts (argument.h); an argument without a value, such as a header that is absent, is not
// an attribute. Messages of one frame are one request. With an argument `headers` they describe a client's request
// instead, and identity decides who that client is (client_message.h).
//
// Not thread-safe: holds the attributes and their texts until the next read().
#pragma once

#include <array>
#include <string_view>

#include "frontends/spop/argument.h"
#include "weir/request.h"

namespace weir::spop {

// Its presence counts, not its value: with too many headers HAProxy sends it without one.
inline constexpr std::string_view kHeadersArgument = "headers";

class NotifyReader {
 public:
  enum class Found {
    request,
    client,  // there is an argument `headers`: the request is not filled in
    // Well-formed, but over a bound or with a cost that is not a number. Such values can come from a client's headers,
    // so the answer concerns one stream and not the connection that carries all of them.
    unacceptable,
    malformed,
  };

  // The request refers to `payload` and to this object.
  Found read(std::string_view payload, Request& request);

 private:
  bool take(std::string_view name, const Value& value, Request& request);

  std::array<Attribute, kMaxAttributes> attributes_;
  std::size_t count_ = 0;
  ArgumentTexts texts_;
};

}  // namespace weir::spop
