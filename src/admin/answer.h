// Answer: what a handler of the admin API says. A value, so that it can be made on a database thread and sent by a
// loop.
//
//   return json_answer(describe(token), etag);
//   return problem(409, "rules_from_file", "the rules come from /etc/weir/rules.yaml; change them there");
#pragma once

#include <string>
#include <string_view>

#include "frontends/http/router.h"
#include "weir/result.h"

namespace weir::admin {

struct Answer {
  int status = 200;
  std::string body;
  std::string fields;  // further header fields, each "Name: value\r\n"
  std::string content_type{http::kJson};

  bool is_problem() const { return status >= 400; }
  http::Response response() const {
    return {.status = status, .content_type = content_type, .fields = fields, .body = body};
  }
};

// 200, with an ETag if there is one; the etag is without quotes.
Answer json_answer(std::string body, std::string_view etag = {});
// 201.
Answer created(std::string body, std::string_view etag = {});
// 204.
Answer no_content();

// application/problem+json with a `code` for programs. `members` are further members: ",\"count\":3".
Answer problem(int status, std::string_view code, std::string_view detail, std::string_view members = {});
// 404 `not_found`: "no override o_7".
Answer not_found(std::string_view kind, std::string_view id);
// 401 `token_invalid`, for a token that was revoked after the guard had let it pass.
Answer token_not_accepted();
// What a failure means to a client: invalid_argument is 400, not_found 404, already_exists and failed_precondition 409,
// a database that does not answer or has too much to do 503.
Answer problem_of(const Failure& failure);

}  // namespace weir::admin
