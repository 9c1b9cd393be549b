#include "admin/account_routes.h"

#include <charconv>
#include <limits>

#include "admin/json_writer.h"
#include "control/audit_trail.h"
#include "ledger/account_change.h"
#include "ledger/books.h"
#include "ledger/reading.h"
#include "weir/allowance.h"

namespace weir::admin {
namespace {

using control::Role;
using database::Session;
using ledger::Account;
using ledger::AccountChange;
using Kind = ledger::AccountChange::Kind;

constexpr std::string_view kAccounts = "accounts";
constexpr std::string_view kEntries = "account-entries";
constexpr std::int64_t kPriorities = 1'000'000;
constexpr std::size_t kShownReservations = 100;

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

void write_account_members(JsonWriter& out, const Account& account) {
  out.member("id", std::to_string(account.id));
  out.member("rule", account.key.rule);
  out.member("subject", account.key.subject);
  out.member("tenant", account.tenant.empty() ? std::nullopt : std::optional<std::string>(account.tenant));
  out.member("period", account.key.period);
  out.member("begins_at", account.begins);
  out.member("ends_at", account.ends);
  out.member("limit", account.limit);
  out.member("used", account.used);
  out.member("held", account.held);
  out.member("available", account.available);
  out.member("expired", account.expired);
  out.member("granted", account.granted);
  out.member("grace", account.grace);
  out.member("grace_used", account.grace_used);
  out.member("overage", account.overage);
}

// For the audit trail.
std::string describe_account(const Account& account) {
  JsonWriter out;
  out.begin_object();
  write_account_members(out, account);
  out.end_object();
  return out.take();
}

void list_accounts(Call& call) {
  Query query = call.query();
  ledger::AccountFilter filter;
  filter.tenant = query.text("tenant").value_or("");
  filter.rule = query.text("rule").value_or("");
  filter.subject = query.text("subject").value_or("");
  filter.period = query.text("period").value_or("");
  const Page page = query.page(kAccounts);
  if (const auto after = number_of(page.after)) filter.after = *after;
  // One more, to know whether there is another page.
  filter.most = static_cast<std::size_t>(page.limit) + 1;
  if (!call.accepts(query)) return;
  call.read(
      [filter, limit = static_cast<std::size_t>(page.limit), now = call.now()](Session& session) -> Result<Answer> {
        Result<std::vector<Account>> found = ledger::list_accounts(session, filter);
        if (!found.ok()) return found.failure();
        std::vector<Account> accounts = std::move(found).value();
        const bool more = accounts.size() > limit;
        if (more) accounts.resize(limit);
        const Result<std::vector<ledger::Pace>> paces = ledger::read_paces(session, accounts, now);
        if (!paces.ok()) return paces.failure();
        JsonWriter out;
        out.begin_object();
        out.begin_array("items");
        for (std::size_t i = 0; i < accounts.size(); ++i) {
          out.begin_object();
          write_account_members(out, accounts[i]);
          out.member("forecast_at", ledger::forecast(accounts[i], paces.value()[i], now));
          out.end_object();
        }
        out.end_array();
        std::optional<std::string> next;
        if (more) next = next_cursor(kAccounts, std::to_string(accounts.back().id));
        out.member("next", next);
        out.end_object();
        return json_answer(out.take());
      });
}

void write_entries(JsonWriter& out, const std::vector<ledger::Entry>& entries, std::size_t most) {
  out.begin_array("entries");
  for (std::size_t i = 0; i < entries.size() && i < most; ++i) {
    const ledger::Entry& entry = entries[i];
    out.begin_object();
    out.member("id", std::to_string(entry.version));
    out.member("at", entry.recorded);
    out.member("effective_at", entry.effective);
    out.member("kind", ledger::kind_name(entry.kind));
    out.member("from", ledger::bucket_name(ledger::movement_of(entry.kind).from));
    out.member("to", ledger::bucket_name(ledger::movement_of(entry.kind).to));
    out.member("amount", entry.amount);
    out.member("operation", entry.operation);
    out.member("about", entry.about);
    out.member("actor", entry.actor);
    out.member("reason", entry.reason);
    out.end_object();
  }
  out.end_array();
  std::optional<std::string> next;
  if (entries.size() > most) next = next_cursor(kEntries, std::to_string(entries[most - 1].version));
  out.member("next", next);
}

void write_grants(JsonWriter& out, const std::vector<ledger::Grant>& grants, const Account& account) {
  out.begin_array("grants");
  for (const ledger::Grant& grant : grants) {
    if (grant.account != account.id) continue;
    out.begin_object();
    out.member("id", grant.id);
    out.member("amount", grant.amount);
    out.member("left", grant.left);
    out.member("priority", grant.priority);
    out.member("expires_at", grant.expires);
    out.member("created_at", grant.created);
    out.member("actor", grant.actor);
    out.member("reason", grant.reason);
    out.end_object();
  }
  out.end_array();
}

void write_reservations(JsonWriter& out, const std::vector<ledger::OpenReservation>& reservations) {
  out.begin_array("reservations");
  for (const ledger::OpenReservation& each : reservations) {
    out.begin_object();
    out.member("id", each.id);
    out.member("units", each.held);
    out.member("reserved_at", each.created);
    out.member("expires_at", each.expires);
    out.end_object();
  }
  out.end_array();
}

struct Detail {
  std::vector<ledger::Pace> paces;
  ledger::UsedSeries series;
  std::vector<ledger::Entry> entries;
  std::vector<ledger::Grant> grants;
  std::vector<ledger::OpenReservation> reservations;
};

Result<Detail> read_detail(Session& session, const Account& account, const Page& page, TimePoint now) {
  Detail detail;
  Result<std::vector<ledger::Pace>> paces = ledger::read_paces(session, {account}, now);
  if (!paces.ok()) return paces.failure();
  Result<ledger::UsedSeries> series = ledger::read_series(session, account, now);
  if (!series.ok()) return series.failure();
  const std::int64_t below = number_of(page.after).value_or(std::numeric_limits<std::int64_t>::max());
  const std::size_t most = static_cast<std::size_t>(page.limit) + 1;
  Result<std::vector<ledger::Entry>> entries = ledger::read_entries(session, account.id, below, most);
  if (!entries.ok()) return entries.failure();
  Result<std::vector<ledger::Grant>> grants = ledger::read_grants(session, account.key.rule, account.key.subject);
  if (!grants.ok()) return grants.failure();
  Result<std::vector<ledger::OpenReservation>> open =
      ledger::open_reservations(session, account.id, kShownReservations);
  if (!open.ok()) return open.failure();
  return Detail{std::move(paces).value(), std::move(series).value(), std::move(entries).value(),
                std::move(grants).value(), std::move(open).value()};
}

// `limit` and `cursor` are of the entries.
void show_account(Call& call) {
  Query query = call.query();
  const Page page = query.page(kEntries);
  if (!call.accepts(query)) return;
  const std::string shown = call.parameter("id");
  call.read([shown, page, now = call.now()](Session& session) -> Result<Answer> {
    const std::optional<std::int64_t> id = number_of(shown);
    if (!id) return not_found("account", shown);
    const Result<std::optional<Account>> found = ledger::read_account(session, *id);
    if (!found.ok()) return found.failure();
    if (!found.value()) return not_found("account", shown);
    const Account& account = *found.value();
    const Result<Detail> detail = read_detail(session, account, page, now);
    if (!detail.ok()) return detail.failure();
    const ledger::UsedSeries& series = detail.value().series;
    JsonWriter out;
    out.begin_object();
    write_account_members(out, account);
    out.member("forecast_at", ledger::forecast(account, detail.value().paces.front(), now));
    out.begin_object("series");
    out.member("start_at", series.start);
    out.member("step_ms", series.step.count() / 1000);
    out.begin_array("used");
    for (const std::int64_t used : series.used) out.value(used);
    out.end_array();
    out.end_object();
    write_grants(out, detail.value().grants, account);
    write_reservations(out, detail.value().reservations);
    write_entries(out, detail.value().entries, static_cast<std::size_t>(page.limit));
    out.end_object();
    return json_answer(out.take());
  });
}

Answer answer_of(const ledger::Answer& done, Kind kind) {
  using ledger::Verdict;
  switch (done.verdict) {
    case Verdict::done:
      break;
    case Verdict::closed:
      return problem(409, "period_closed", done.message);
    case Verdict::not_found:
      return problem(404, "not_found", done.message);
    case Verdict::gone:
      if (kind == Kind::release) return problem(410, "gone", done.message);
      return problem(409, "reversed", done.message);
    case Verdict::conflict:
      return problem(422, "key_used", "id or Idempotency-Key: was used for another change; use a new one for each");
    default:
      return problem(409, "refused", done.message);
  }
  JsonWriter out;
  out.begin_object();
  if (!done.accounts.empty()) write_account_members(out, done.accounts.front());
  out.member("changed", done.granted > 0 ? done.granted : done.returned);
  out.end_object();
  return json_answer(out.take());
}

// The audit entry is written in the ledger's transaction.
void submit_change(ledger::Ledger& ledger, const Account& account, const AccountChange& change,
                   control::AuditEntry entry, const LaterAnswer& later) {
  std::unique_ptr<ledger::Operation> operation = ledger::make_change(account, change, entry.at);
  operation->also = [entry = std::move(entry), id = account.id](Session& session, const ledger::Books& books,
                                                                const ledger::Answer& answer) mutable -> Status {
    const auto found = books.accounts.find(id);
    if (found != books.accounts.end() && found->second.read) entry.before = describe_account(*found->second.read);
    for (const Account& after : answer.accounts) {
      if (after.id == id) entry.after = describe_account(after);
    }
    return control::append(session, entry);
  };
  operation->done = [later, kind = change.kind](const Result<ledger::Answer>& answer) {
    later.send(answer.ok() ? answer_of(answer.value(), kind) : problem_of(answer.failure()));
  };
  ledger.submit(std::move(operation));
}

// A name that the caller gives the change: it is made once, whichever way it is sent (also by `weir quota` to the
// database). Without one, an Idempotency-Key names it.
void read_id(Members& body, const Call& call, AccountChange& change) {
  const std::optional<std::string> id = body.optional_text("id");
  if (id) {
    change.key = ledger::key_of_id(*id);
  } else if (!call.request().once_name.empty()) {
    change.key = "admin " + std::string(call.request().once_name);
  }
}

// Looks the account up, and then changes it.
void change_account(Call& call, ledger::Ledger& ledger, AccountChange change) {
  const std::string shown = call.parameter("id");
  change.actor = call.actor().name;
  const Environment& environment = call.environment();
  if (environment.is_ready && !environment.is_ready()) {
    return call.answer(problem_of({Code::unavailable, "the database does not answer yet; try again later"}));
  }
  control::AuditEntry entry{.at = call.now(),
                            .actor = change.actor,
                            .from = call.actor().from,
                            .action = "account." + std::string(ledger::change_name(change.kind)),
                            .object = "account/" + shown,
                            .before = {},
                            .after = {},
                            .reason = change.reason,
                            .node = environment.node};
  const LaterAnswer later = call.defer();
  const auto account = std::make_shared<std::optional<Account>>();
  const Status queued = environment.database->submit(
      {.access = database::Access::read,
       .work = [account, id = number_of(shown)](Session& session) -> Status {
         if (!id) return success();
         Result<std::optional<Account>> found = ledger::read_account(session, *id);
         if (!found.ok()) return found.failure();
         *account = std::move(found).value();
         return success();
       },
       .done =
           [account, shown, change, entry = std::move(entry), later, &ledger](const database::Outcome& outcome) {
             if (!outcome.ok()) return later.send(problem_of(outcome.status.failure()));
             if (!*account) return later.send(not_found("account", shown));
             submit_change(ledger, **account, change, entry, later);
           }});
  if (!queued.ok()) later.send(problem_of(queued.failure()));
}

void grant(Call& call, ledger::Ledger& ledger) {
  Members body = call.body();
  AccountChange change{.kind = Kind::grant};
  change.amount = body.number("amount", 1, kMaxUnits);
  change.expires = body.optional_until("expires_at", call.now()).value_or(TimePoint{});
  change.priority = body.optional_number("priority", -kPriorities, kPriorities).value_or(0);
  change.reason = body.reason();
  read_id(body, call, change);
  if (call.accepts(body)) change_account(call, ledger, change);
}

void adjust(Call& call, ledger::Ledger& ledger) {
  Members body = call.body();
  AccountChange change{.kind = Kind::adjust};
  change.amount = body.number("amount", -kMaxUnits, kMaxUnits);
  if (change.amount == 0 && !body.failed()) {
    body.fail("amount", "is 0, expected units that were used (positive) or are given back (negative)");
  }
  change.reason = body.reason();
  read_id(body, call, change);
  if (call.accepts(body)) change_account(call, ledger, change);
}

void reverse(Call& call, ledger::Ledger& ledger) {
  Members body = call.body();
  AccountChange change{.kind = Kind::reverse};
  change.operation = body.text("operation");
  change.reason = body.reason();
  read_id(body, call, change);
  if (call.accepts(body)) change_account(call, ledger, change);
}

// Takes a reservation away from its holder: what it holds of every account is available again.
void release(Call& call, ledger::Ledger& ledger) {
  Members body = call.body();
  AccountChange change{.kind = Kind::release};
  change.operation = body.text("reservation");
  change.reason = body.reason();
  if (call.accepts(body)) change_account(call, ledger, change);
}

}  // namespace

void add_account_routes(Api& api, ledger::Ledger& ledger) {
  api.get("/accounts", list_accounts);
  api.get("/accounts/{id}", show_account);
  api.post("/accounts/{id}/grant", Role::operator_, [&ledger](Call& call) { grant(call, ledger); });
  api.post("/accounts/{id}/release", Role::operator_, [&ledger](Call& call) { release(call, ledger); });
  api.post("/accounts/{id}/adjust", Role::admin, [&ledger](Call& call) { adjust(call, ledger); });
  api.post("/accounts/{id}/reverse", Role::admin, [&ledger](Call& call) { reverse(call, ledger); });
}

}  // namespace weir::admin
