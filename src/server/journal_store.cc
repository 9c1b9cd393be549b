#include "server/journal_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "admin/decision_json.h"

namespace weir::server {
namespace {

using database::Access;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;
using observe::JournalEntry;

// As long as an entry counts denials that are repeated, and a little.
constexpr Duration kSettled = std::chrono::milliseconds(1200);
// Entries of one loop that are checked each time.
constexpr std::size_t kMaxNews = 5'000;
constexpr std::int64_t kPageRows = 500;
constexpr int kMaxPages = 40;

const Statement kInsertEntry{
    "INSERT INTO decision_journal (at, node, ring, place, allowed, shadow, audited, reason, rule, attributes, entry) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING"};
const Statement kForgetEntries{"DELETE FROM decision_journal WHERE at < $1"};
const Statement kFindEntries{
    "SELECT at, node, ring, place, shadow, attributes, entry FROM decision_journal "
    "WHERE at >= $1 AND at < $2 AND (at, ring, place) < ($3, $4, $5) AND ($6 = '' OR rule = $6) "
    "AND ($7 = '' OR reason = $7) AND allowed >= $8 AND allowed <= $9 AND attributes LIKE $10 AND entry LIKE $11 "
    "ORDER BY at DESC, ring DESC, place DESC LIMIT $12"};

std::string hash_text(std::uint64_t hash) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 0xf];
  return text;
}

std::string attribute_word(std::string_view name, std::uint64_t hash) {
  return " " + std::string(name) + "=" + hash_text(hash) + " ";
}

// A subject as an entry's JSON has it; nothing: no entry can have it. Digits need no escaping, neither here nor in
// LIKE.
std::optional<std::string> subject_word(std::string_view digits) {
  const bool valid = std::all_of(digits.begin(), digits.end(),
                                 [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return valid ? std::optional("\"subject\":\"" + std::string(digits)) : std::nullopt;
}

// An attribute may be called "subject" too: only those of rules count.
bool has_subject(std::string_view entry, std::string_view word) {
  const std::size_t rules = entry.rfind("\"rules\":[{");
  return rules != std::string_view::npos && entry.find(word, rules) != std::string_view::npos;
}

Row row_of(const JournalEntry& entry, const std::string& node, bool audited) {
  std::string attributes;
  for (const observe::JournalAttribute& each : entry.attributes) attributes += attribute_word(each.name, each.hash);
  admin::JsonWriter json;
  admin::write_entry(json, entry, node);
  const observe::RecordRule* const decisive = entry.decisive();
  Row row;
  row.emplace_back(micros(entry.at));
  row.emplace_back(node);
  row.emplace_back(static_cast<std::int64_t>(entry.ring));
  row.emplace_back(static_cast<std::int64_t>(entry.position));
  row.emplace_back(std::int64_t{entry.allowed ? 1 : 0});
  row.emplace_back(std::int64_t{entry.shadow_denied() ? 1 : 0});
  row.emplace_back(std::int64_t{audited ? 1 : 0});
  row.emplace_back(std::string(reason_name(entry.reason)));
  row.emplace_back(std::string(decisive != nullptr ? decisive->rule : std::string_view()));
  row.emplace_back(std::move(attributes));
  row.emplace_back(json.take());
  return row;
}

}  // namespace

StoredEntries stored_entries_from_name(std::string_view name) {
  if (name == "all") return StoredEntries::all;
  if (name == "denials") return StoredEntries::denials;
  return name == "audited" ? StoredEntries::audited : StoredEntries::none;
}

JournalStore::JournalStore(const observe::Journal& journal, database::Database& database, Options options)
    : journal_(journal),
      database_(database),
      options_(std::move(options)),
      everything_(journal.filter({})),
      follower_(journal.follow()) {}

bool JournalStore::is_wanted(const JournalEntry& entry) const {
  if (options_.which == StoredEntries::all) return true;
  const bool denial = !entry.allowed || entry.shadow_denied();
  if (options_.which == StoredEntries::denials || !denial) return denial;
  return !entry.allowed && entry.decisive() != nullptr && options_.is_audited(entry.decisive()->rule);
}

void JournalStore::take_new() {
  observe::Journal::News news = follower_.next(everything_, kMaxNews);
  lost_.fetch_add(news.lost, std::memory_order_relaxed);
  for (JournalEntry& each : news.entries) {
    if (!is_wanted(each)) continue;
    if (pending_.size() == kMaxPending) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    pending_.push_back(std::move(each));
  }
}

// The oldest entries that no longer change, with what they have counted by now.
JournalStore::Batch JournalStore::due(TimePoint now, bool all) {
  Batch batch;
  while (!pending_.empty() && batch.size() < kMaxBatch) {
    if (!all && pending_.front().at + kSettled > now) break;
    JournalEntry entry = std::move(pending_.front());
    pending_.pop_front();
    entry.count = journal_.count_of(entry);
    batch.push_back(std::move(entry));
  }
  return batch;
}

Status JournalStore::store(Session& session, const Batch& batch, TimePoint oldest) const {
  database::Batch steps;
  for (const JournalEntry& each : batch) {
    const bool audited = !each.allowed && each.decisive() != nullptr && options_.is_audited(each.decisive()->rule);
    steps.add_row(kInsertEntry, row_of(each, options_.node, audited));
  }
  steps.add(kForgetEntries, micros(oldest));
  const Result<std::vector<Rows>> done = session.run(steps);
  return done.ok() ? success() : Status(done.failure());
}

void JournalStore::write(TimePoint now) {
  take_new();
  if (busy_->load(std::memory_order_acquire)) return;
  const auto batch = std::make_shared<const Batch>(due(now, /*all=*/false));
  if (batch->empty()) return;
  busy_->store(true, std::memory_order_release);
  const Status queued = database_.submit(
      {.access = Access::write,
       .work = [this, batch, oldest = now - options_.keep](Session& session) { return store(session, *batch, oldest); },
       .done =
           [this, batch, busy = busy_, written = written_](const database::Outcome& outcome) {
             if (outcome.ok()) {
               written->fetch_add(batch->size(), std::memory_order_relaxed);
             } else {
               lost_.fetch_add(batch->size(), std::memory_order_relaxed);
             }
             busy->store(false, std::memory_order_release);
           },
       .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30)});
  if (queued.ok()) return;
  lost_.fetch_add(batch->size(), std::memory_order_relaxed);
  busy_->store(false, std::memory_order_release);
}

void JournalStore::finish(TimePoint now) {
  take_new();
  // Behind the batch that is being written, if there is one.
  if (busy_->load(std::memory_order_acquire)) {
    static_cast<void>(database_.run(
        Access::write, [](Session&) { return success(); }, std::chrono::seconds(5)));
  }
  for (Batch batch = due(now, /*all=*/true); !batch.empty(); batch = due(now, /*all=*/true)) {
    const database::Outcome outcome = database_.run(
        Access::write, [&](Session& session) { return store(session, batch, now - options_.keep); },
        std::chrono::seconds(5));
    if (!outcome.ok()) {
      lost_.fetch_add(batch.size() + pending_.size(), std::memory_order_relaxed);
      return;
    }
    written_->fetch_add(batch.size(), std::memory_order_relaxed);
  }
}

Result<std::vector<JournalStore::Found>> JournalStore::find(const observe::JournalQuery& query, std::size_t count,
                                                            const std::optional<observe::JournalPlace>& after) const {
  std::vector<std::string> words;
  for (const auto& [name, value] : query.attributes) {
    words.push_back(attribute_word(name, observe::attribute_hash(name, value, journal_.encoder())));
  }
  const std::string like = words.empty() ? "%" : "%" + words.front() + "%";
  const std::optional<std::string> subject = subject_word(query.subject);
  if (!subject) return std::vector<Found>();
  const std::string subject_like = query.subject.empty() ? "%" : "%" + *subject + "%";
  const std::string reason = query.reason ? std::string(reason_name(*query.reason)) : "";
  const std::int64_t least_allowed = query.outcome == observe::JournalQuery::Outcome::allowed ||
                                             query.outcome == observe::JournalQuery::Outcome::shadow
                                         ? 1
                                         : 0;
  const std::int64_t most_allowed = query.outcome == observe::JournalQuery::Outcome::denied ? 0 : 1;
  std::vector<Found> found;
  const auto work = [&](Session& session) -> Status {
    found.clear();
    observe::JournalPlace place = after.value_or(observe::JournalPlace{TimePoint::max(), 0, 0});
    for (int page = 0; page < kMaxPages && found.size() < count; ++page) {
      const Result<Rows> rows =
          session.run(kFindEntries, query.from ? micros(*query.from) : std::int64_t{0},
                      query.until ? micros(*query.until) : INT64_MAX, micros(place.at),
                      static_cast<std::int64_t>(place.ring), static_cast<std::int64_t>(place.position), query.rule,
                      reason, least_allowed, most_allowed, like, subject_like, kPageRows);
      if (!rows.ok()) return rows.failure();
      for (const Row& row : rows.value()) {
        place = {from_micros(database::number(row[0])), static_cast<std::uint32_t>(database::number(row[2])),
                 static_cast<std::uint64_t>(database::number(row[3]))};
        const std::string& attributes = database::text(row[5]);
        const bool has_all = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
          return attributes.find(word) != std::string::npos;
        });
        if (!has_all || (query.outcome == observe::JournalQuery::Outcome::shadow && database::number(row[4]) == 0))
          continue;
        if (!query.subject.empty() && !has_subject(database::text(row[6]), *subject)) continue;
        if (found.size() == count) break;
        found.push_back({place, database::text(row[1]), database::text(row[6])});
      }
      if (rows.value().size() < static_cast<std::size_t>(kPageRows)) break;
    }
    return success();
  };
  const database::Outcome outcome = database_.run(Access::read, work, std::chrono::seconds(5));
  if (!outcome.ok()) return outcome.status.failure();
  return found;
}

}  // namespace weir::server
