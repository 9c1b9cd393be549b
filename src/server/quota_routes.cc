#include "server/quota_routes.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "ledger/account_json.h"
#include "ledger/reading.h"

namespace weir::server {
namespace {

using database::Access;
using database::Outcome;
using database::Session;

constexpr auto kReadPatience = std::chrono::seconds(5);

bool is_filter(const std::string& name) { return name == "rule" || name == "subject" || name == "period"; }

// "tenant=acme&rule=exports-month", and `with_attributes` others. Failure: invalid_argument.
Status read_query(std::string_view query, bool with_attributes, std::map<std::string, std::string>& values) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const std::size_t equals = pair.find('=');
    std::string name(pair.substr(0, equals));
    std::string value;
    if (equals == std::string_view::npos || !base::decode_percent(pair.substr(equals + 1), value)) {
      return Failure{Code::invalid_argument, "the query must be name=value pairs, percent-encoded"};
    }
    if (!with_attributes && name != "tenant" && !is_filter(name)) {
      return Failure{Code::invalid_argument, "unknown query parameter; expected tenant, rule, subject or period"};
    }
    values[name] = value;
  }
  if (!with_attributes && values["tenant"].empty())
    return Failure{Code::invalid_argument, "tenant: is missing, as in ?tenant=acme"};
  return success();
}

Status read_quotas(Session& session, const ledger::AccountFilter& filter, TimePoint now, std::string& body) {
  const Result<std::vector<ledger::Account>> accounts = ledger::list_accounts(session, filter);
  if (!accounts.ok()) return accounts.failure();
  body = "{\"quotas\":[";
  bool first = true;
  for (const ledger::Account& account : accounts.value()) {
    if (filter.period.empty() && account.ends <= now) continue;
    const Result<std::vector<ledger::Grant>> grants =
        ledger::read_grants(session, account.key.rule, account.key.subject);
    if (!grants.ok()) return grants.failure();
    if (!std::exchange(first, false)) body += ',';
    ledger::append_account_json(body, account, &grants.value());
  }
  body += "]}";
  return success();
}

// Whose accounts the caller may see, by its credentials: the tenant goes into `values`. False: answered.
bool identify(transport::RequestIdentity& identity, std::map<std::string, std::string>& values,
              http::ResponseWriter& writer) {
  std::vector<Attribute> sent;
  for (const auto& [name, value] : values) {
    if (!is_filter(name) && sent.size() < kMaxAttributes) sent.push_back({name, value});
  }
  Request request(sent);
  if (const auto refusal = transport::identify(identity, request)) {
    if (refusal->malformed) {
      writer.send_problem(400, refusal->message("", ""));
    } else {
      writer.send_problem(403, "the credentials in the query are not accepted");
    }
    return false;
  }
  std::string tenant;
  for (const Attribute& attribute : request.attributes) {
    if (attribute.name == "tenant") tenant = attribute.value;
  }
  const std::string asked = values["tenant"];
  if (tenant.empty() || (!asked.empty() && asked != tenant)) {
    writer.send_problem(403, "tenant: these accounts are not the caller's; expected credentials of that tenant");
    return false;
  }
  values["tenant"] = tenant;
  return true;
}

void answer_quotas(const http::HttpRequest& request, http::ResponseWriter& writer, database::Database& database,
                   Clock& clock, transport::RequestIdentity* identity) {
  std::map<std::string, std::string> values;
  if (Status read = read_query(request.query, identity != nullptr, values); !read.ok()) {
    return writer.send_problem(400, read.failure().message);
  }
  if (identity != nullptr && !identify(*identity, values, writer)) return;
  ledger::AccountFilter filter;
  filter.tenant = values["tenant"];
  filter.rule = values["rule"];
  filter.subject = values["subject"];
  filter.period = values["period"];
  filter.most = ledger::kMaxListed;
  auto body = std::make_shared<std::string>();
  const http::LaterResponse later = writer.defer();
  const auto work = [filter, body, now = clock.wall()](Session& session) {
    return read_quotas(session, filter, now, *body);
  };
  const auto done = [later, body](const Outcome& outcome) {
    later.link().post([later, body, status = outcome.status] {
      if (status.ok()) return later.send({.status = 200, .content_type = http::kJson, .fields = {}, .body = *body});
      later.send_problem(503, "the ledger does not answer");
    });
  };
  const Status queued = database.submit({Access::read, work, done, std::chrono::steady_clock::now() + kReadPatience});
  if (!queued.ok()) later.send_problem(503, queued.failure().message);
}

}  // namespace

void add_quota_routes(http::Router& router, database::Database& database, Clock& clock,
                      std::shared_ptr<transport::RequestIdentity> identity) {
  router.add({.method = "GET",
              .path = "/v1/quotas",
              .handler =
                  [&database, &clock, identity = std::move(identity)](const http::HttpRequest& request,
                                                                      http::ResponseWriter& writer) {
                    answer_quotas(request, writer, database, clock, identity.get());
                  },
              .role = "list"});
}

}  // namespace weir::server
