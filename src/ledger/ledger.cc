#include "ledger/ledger.h"

#include <future>

#include "ledger/operations/reservations.h"
#include "ledger/operations/slices.h"
#include "ledger/rows.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::number;
using database::Outcome;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;
using database::text;

const Statement kDueSlices{
    "SELECT account, node, epoch FROM ledger_slice WHERE holding AND expires_at <= $1"
    " ORDER BY account, node, epoch LIMIT $2"};
const Statement kSlicesOfNode{
    "SELECT account, node, epoch FROM ledger_slice WHERE node = $1 AND epoch < $2 AND holding"
    " ORDER BY account, epoch LIMIT $3"};
const Statement kDueReservations{
    "SELECT id FROM ledger_reservation WHERE state = 'open' AND expires_at <= $1 ORDER BY id LIMIT $2"};
const Statement kForgetAnswers{"DELETE FROM ledger_answer WHERE keep_until <= $1 RETURNING 1"};
const Statement kForgetCommitters{"DELETE FROM ledger_committer WHERE seen_at <= $1"};

constexpr std::size_t kSlicesAtOnce = 1000;
// Longer than a node can wait to learn what became of a commit.
constexpr Duration kCommitterLives = std::chrono::hours(24 * 30);

// The rows of one statement.
Result<Rows> read_rows(database::Database& database, const Statement& statement, const Row& values) {
  Rows rows;
  const Outcome outcome = database.run(Access::read, [&](Session& session) -> Status {
    database::Batch batch;
    batch.add_row(statement, values);
    Result<std::vector<Rows>> answers = session.run(batch);
    if (!answers.ok()) return answers.failure();
    rows = std::move(answers.value().front());
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return rows;
}

std::vector<Books::SliceKey> slice_keys(const Rows& rows) {
  std::vector<Books::SliceKey> keys;
  for (const Row& row : rows) keys.emplace_back(number(row[0]), text(row[1]), number(row[2]));
  return keys;
}

// Sweeping twice what is due changes nothing, so ids only have to differ.
std::string sweep_id(std::string_view what, TimePoint now) {
  return std::string(what) + " " + std::to_string(micros(now)) + " " +
         std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

bool has_own_time(const database::Database& database, const LedgerOptions& options) {
  return options.database_time && database.dialect() == database::Dialect::postgres;
}

}  // namespace

Ledger::Ledger(database::Database& database, Clock& clock, const LedgerOptions& options)
    : database_(database),
      clock_(has_own_time(database, options) ? nullptr : &clock),
      decisions_(database, clock_, options.committer),
      // SQLite has one writer, and nothing would be gained.
      later_(database.dialect() == database::Dialect::postgres
                 ? std::make_unique<Committer>(database, clock_, options.committer)
                 : nullptr) {}

Result<Answer> Ledger::run(std::unique_ptr<Operation> operation) {
  std::promise<Result<Answer>> ended;
  operation->done = [&ended](const Result<Answer>& answer) { ended.set_value(answer); };
  submit(std::move(operation));
  return ended.get_future().get();
}

Result<TimePoint> Ledger::now() {
  if (clock_ != nullptr) return clock_->wall();
  const Result<Rows> rows = read_rows(database_, kPostgresTime, {});
  if (!rows.ok()) return rows.failure();
  return from_micros(number(rows.value()[0][0]));
}

// Twice if some of them have to be charged in a later period than their own.
Result<std::int64_t> Ledger::lapse(const std::vector<std::string>& reservations, TimePoint at,
                                   const OpenTerms& open_terms) {
  auto lapse = std::make_unique<LapseReservations>();
  lapse->id = sweep_id("lapse", at);
  lapse->reservations = reservations;
  const Result<Answer> lapsed = run(std::move(lapse));
  if (!lapsed.ok()) return lapsed.failure();
  if (lapsed.value().accounts.empty()) return lapsed.value().granted;
  auto late = std::make_unique<LapseReservations>();
  late->id = sweep_id("lapse late", at);
  late->reservations = reservations;
  late->forgo_closed = true;
  for (const Account& closed : lapsed.value().accounts) {
    std::optional<Terms> terms = open_terms ? open_terms(closed, at) : std::nullopt;
    if (terms) late->open_terms.push_back(*std::move(terms));
  }
  const Result<Answer> rest = run(std::move(late));
  if (!rest.ok()) return rest.failure();
  return lapsed.value().granted + rest.value().granted;
}

Result<Ledger::Swept> Ledger::sweep(std::size_t most, const OpenTerms& open_terms) {
  const Result<TimePoint> at = now();
  if (!at.ok()) return at.failure();
  const Row due = {micros(at.value()), static_cast<std::int64_t>(most)};
  const Result<Rows> reservations = read_rows(database_, kDueReservations, due);
  if (!reservations.ok()) return reservations.failure();
  const Result<Rows> slices = read_rows(database_, kDueSlices, due);
  if (!slices.ok()) return slices.failure();
  Swept swept;
  if (!reservations.value().empty()) {
    std::vector<std::string> ids;
    for (const Row& row : reservations.value()) ids.push_back(text(row[0]));
    const Result<std::int64_t> lapsed = lapse(ids, at.value(), open_terms);
    if (!lapsed.ok()) return lapsed.failure();
    swept.reservations = lapsed.value();
  }
  if (!slices.value().empty()) {
    auto expire = std::make_unique<ExpireSlices>();
    expire->id = sweep_id("expire", at.value());
    expire->slices = slice_keys(slices.value());
    const Result<Answer> expired = run(std::move(expire));
    if (!expired.ok()) return expired.failure();
    swept.expired_units = expired.value().granted;
  }
  return swept;
}

Result<std::int64_t> Ledger::close_epochs(const std::string& node, std::int64_t before_epoch) {
  std::int64_t expired = 0;
  while (true) {
    const Result<TimePoint> at = now();
    if (!at.ok()) return at.failure();
    const Result<Rows> slices =
        read_rows(database_, kSlicesOfNode, {node, before_epoch, static_cast<std::int64_t>(kSlicesAtOnce)});
    if (!slices.ok()) return slices.failure();
    if (slices.value().empty()) return expired;
    auto expire = std::make_unique<ExpireSlices>();
    expire->id = sweep_id("close " + node, at.value());
    expire->slices = slice_keys(slices.value());
    expire->now_in_any_case = true;
    const Result<Answer> answer = run(std::move(expire));
    if (!answer.ok()) return answer.failure();
    expired += answer.value().granted;
  }
}

Result<std::int64_t> Ledger::forget_answers() {
  const Result<TimePoint> at = now();
  if (!at.ok()) return at.failure();
  std::int64_t forgotten = 0;
  const Outcome outcome = database_.run(Access::write, [&](Session& session) -> Status {
    const Result<Rows> rows = session.run(kForgetAnswers, micros(at.value()));
    if (!rows.ok()) return rows.failure();
    forgotten = static_cast<std::int64_t>(rows.value().size());
    const Result<Rows> committers = session.run(kForgetCommitters, micros(at.value() - kCommitterLives));
    if (!committers.ok()) return committers.failure();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return forgotten;
}

Committer::Counts Ledger::counts() const {
  Committer::Counts counts = decisions_.counts();
  if (later_) {
    const Committer::Counts more = later_->counts();
    counts.operations += more.operations;
    counts.groups += more.groups;
    counts.alone += more.alone;
    counts.unknown += more.unknown;
    counts.undone += more.undone;
  }
  return counts;
}

}  // namespace weir::ledger
