#include "admin/answer.h"

#include "base/json_text.h"
#include "frontends/http/token_guard.h"

namespace weir::admin {
namespace {

constexpr std::size_t kMaxDetail = 8192;

std::string etag_field(std::string_view etag) {
  return etag.empty() ? std::string() : "ETag: \"" + std::string(etag) + "\"\r\n";
}

}  // namespace

Answer json_answer(std::string body, std::string_view etag) {
  return {.status = 200, .body = std::move(body), .fields = etag_field(etag)};
}

Answer created(std::string body, std::string_view etag) {
  return {.status = 201, .body = std::move(body), .fields = etag_field(etag)};
}

Answer no_content() { return {.status = 204, .body = {}, .fields = {}, .content_type = {}}; }

Answer problem(int status, std::string_view code, std::string_view detail, std::string_view members) {
  Answer answer{.status = status, .body = {}, .fields = {}, .content_type = std::string(http::kProblemJson)};
  answer.body = R"({"type":"about:blank","title":")" + std::string(http::status_phrase(status)) +
                "\",\"status\":" + std::to_string(status) + ",\"detail\":";
  base::append_json_string(answer.body, detail, kMaxDetail);
  answer.body += ",\"code\":\"" + std::string(code) + "\"" + std::string(members) + "}";
  return answer;
}

Answer not_found(std::string_view kind, std::string_view id) {
  return problem(404, "not_found", "no " + std::string(kind) + " " + std::string(id));
}

Answer token_not_accepted() {
  Answer answer = problem(401, http::kTokenInvalid, "the token is not accepted");
  answer.fields = "WWW-Authenticate: Bearer realm=\"weir\"\r\n";
  return answer;
}

Answer problem_of(const Failure& failure) {
  switch (failure.code) {
    case Code::invalid_argument:
    case Code::out_of_range:
      return problem(400, "invalid", failure.message);
    case Code::not_found:
      return problem(404, "not_found", failure.message);
    case Code::already_exists:
      return problem(409, "already_exists", failure.message);
    case Code::failed_precondition:
      return problem(409, "conflict", failure.message);
    case Code::unavailable:
    case Code::deadline_exceeded:
    case Code::resource_exhausted:
    case Code::aborted:
    case Code::cancelled: {
      Answer answer = problem(503, "unavailable", failure.message);
      answer.fields = "Retry-After: 1\r\n";
      return answer;
    }
    default:
      return problem(500, "internal", failure.message);
  }
}

}  // namespace weir::admin
