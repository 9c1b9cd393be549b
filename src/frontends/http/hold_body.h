// HoldBody: the JSON bodies of /v1/leases and /v1/reservations, read as strictly as those of checks (check_body.h).
//
// Not thread-safe: one for each loop. What was read refers to it and is valid until the next read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weir/request.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::http {

class JsonBody;

class HoldBody {
 public:
  HoldBody();
  ~HoldBody();

  // {"attributes":{…},"cost":1,"priority":"…","id":"…","ttl_ms":30000}
  Status read_acquire(std::string_view body);
  // {"ttl_ms":30000}, or no body.
  Status read_renew(std::string_view body);
  // As to acquire, with "amount":2000 or "estimate":"auto", "partial":true, "dry_run":true.
  Status read_reserve(std::string_view body);
  // {"actual":1234}
  Status read_commit(std::string_view body);
  // {"ttl_ms":30000,"add":500,"partial":true}
  Status read_extend(std::string_view body);
  // Nothing, or an object without members.
  Status read_nothing(std::string_view body);

  // What was read; members that were not given have the values below.
  Request request;
  std::string_view id;
  Duration ttl{0};
  std::optional<std::int64_t> amount;  // "amount", or "add"
  std::int64_t actual = 0;
  bool partial = false;
  bool dry_run = false;

  // The value of the request's first attribute of this name; empty if there is none.
  std::string_view attribute(std::string_view name) const;

 private:
  class Reader;
  Status read(std::string_view body, unsigned accepted, unsigned required);

  std::unique_ptr<JsonBody> json_;
  std::vector<Attribute> attributes_;
};

}  // namespace weir::http
