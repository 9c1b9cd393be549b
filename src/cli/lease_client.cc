#include "cli/lease_client.h"

#include <simdjson.h>

#include "base/json_text.h"
#include "cli/server_call.h"

namespace weir::cli {
namespace {

using simdjson::dom::element;

Failure refused(const HttpAnswer& answer, std::string_view call) {
  Failure failure = refusal_of(answer, call);
  const Result<DecisionView> problem = DecisionView::read(answer.body);
  const bool has_detail = !problem.ok() && problem.failure().code == Code::invalid_argument;
  if (answer.status != 404 && answer.status != 409 && answer.status != 410) return failure;
  if (!has_detail) return failure;
  failure.code = answer.status == 404 ? Code::not_found : Code::failed_precondition;
  failure.message = problem.failure().message;
  return failure;
}

Failure unreadable() { return {Code::internal, "the answer is not from a Weir server"}; }

std::string ttl_body(std::int64_t ttl_ms) { return ttl_ms == 0 ? "{}" : "{\"ttl_ms\":" + std::to_string(ttl_ms) + "}"; }

Result<LeaseView> read_lease(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  LeaseView lease;
  std::string_view handle;
  if (parser.parse(json.data(), json.size()).get(root) || root["lease"].get_string().get(handle) ||
      root["expires_at_ms"].get_int64().get(lease.expires_at_ms) || root["ttl_ms"].get_int64().get(lease.ttl_ms)) {
    return unreadable();
  }
  lease.handle = handle;
  std::int64_t token = 0;
  if (!root["fencing_token"].get_int64().get(token)) lease.fencing_token = token;
  return lease;
}

// Handles go into the path of a request.
Status check_handle(std::string_view handle) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  const bool fits = !handle.empty() && handle != "." && handle != ".." &&
                    handle.find_first_not_of(kAllowed) == std::string_view::npos;
  if (fits) return success();
  return Failure{Code::invalid_argument, "expected a handle as `weir lease list` shows it"};
}

}  // namespace

Result<LeaseAnswerView> LeaseClient::acquire(const Wanted& wanted) {
  std::string body = "{" + wanted.attributes.members() + ",\"cost\":" + std::to_string(wanted.cost);
  if (wanted.ttl_ms > 0) body += ",\"ttl_ms\":" + std::to_string(wanted.ttl_ms);
  if (!wanted.id.empty()) {
    body += ",\"id\":";
    base::append_json_string(body, wanted.id);
  }
  body += "}";
  Result<HttpAnswer> answer = client_.post("/v1/leases", body);
  if (!answer.ok()) return answer.failure();
  Result<DecisionView> decision = DecisionView::read(answer.value().body);
  if (!decision.ok()) return refused(answer.value(), "POST /v1/leases");
  LeaseAnswerView view{std::move(decision).value(), {}};
  if (!view.decision.allowed) return view;
  Result<LeaseView> lease = read_lease(answer.value().body);
  if (!lease.ok()) return lease.failure();
  view.lease = std::move(lease).value();
  return view;
}

Result<LeaseView> LeaseClient::renew(std::string_view handle, std::int64_t ttl_ms) {
  const Result<HttpAnswer> answer = client_.post("/v1/leases/" + std::string(handle) + "/renew", ttl_body(ttl_ms));
  if (!answer.ok()) return answer.failure();
  if (answer.value().status != 200) return refused(answer.value(), "POST /v1/leases/…/renew");
  return read_lease(answer.value().body);
}

Status LeaseClient::release(std::string_view handle) {
  if (Status checked = check_handle(handle); !checked.ok()) return checked;
  const Result<HttpAnswer> answer = client_.request("DELETE", "/v1/leases/" + std::string(handle));
  if (!answer.ok()) return answer.failure();
  if (answer.value().status != 204) return refused(answer.value(), "DELETE /v1/leases/…");
  return success();
}

Result<LeaseListView> LeaseClient::list(const AttributeArgs& attributes) {
  Result<HttpAnswer> answer = client_.request("GET", "/v1/leases?" + attributes.query());
  if (!answer.ok()) return answer.failure();
  if (answer.value().status != 200) return refused(answer.value(), "GET /v1/leases");
  LeaseListView view;
  view.json = std::move(answer).value().body;
  simdjson::dom::parser parser;
  element root;
  simdjson::dom::array list;
  if (parser.parse(view.json).get(root) || root["leases"].get_array().get(list) ||
      root["complete"].get_bool().get(view.complete)) {
    return unreadable();
  }
  for (const element each : list) {
    ListedLeaseView lease;
    std::string_view rule;
    std::string_view handle;
    if (each["rule"].get_string().get(rule) || each["lease"].get_string().get(handle) ||
        each["units"].get_int64().get(lease.units) || each["expires_at_ms"].get_int64().get(lease.expires_at_ms)) {
      return unreadable();
    }
    lease.rule = rule;
    lease.handle = handle;
    view.leases.push_back(std::move(lease));
  }
  return view;
}

}  // namespace weir::cli
