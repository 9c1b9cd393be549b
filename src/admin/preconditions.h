// Preconditions: If-Match and If-None-Match of a request, so that no one overwrites what they have not seen.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/answer.h"
#include "frontends/http/http_message.h"

namespace weir::admin {

class Preconditions {
 public:
  Preconditions() = default;
  explicit Preconditions(const http::HttpRequest& request);

  // Neither was sent.
  bool empty() const { return !if_match_ && !if_none_match_; }
  // What to answer instead of changing the thing whose etag is `current`; nothing if it may be changed. `current` is
  // nothing for a thing that does not exist: it can be made with If-None-Match: *, and with If-Match it is 412.
  std::optional<Answer> refuse(const std::optional<std::string>& current) const;

 private:
  std::optional<std::string> if_match_;
  std::optional<std::string> if_none_match_;
};

// 428: says which header is needed.
Answer precondition_required();

}  // namespace weir::admin
