#include "ledger/rows.h"

#include <array>
#include <charconv>

#include "base/ascii.h"

namespace weir::ledger {
namespace {

using database::number;
using database::Row;
using database::text;

constexpr std::array<std::string_view, 7> kVerdicts = {"done", "denied", "conflict", "not_found",
                                                       "gone", "stale",  "closed"};

// The numbers of an answer, in the order in which they are written.
std::array<std::int64_t*, 7> numbers_of(Answer& answer) {
  return {&answer.granted,   &answer.returned, &answer.overage, &answer.grace,
          &answer.uncharged, &answer.leg,      &answer.epoch};
}

// The text before the next space, which is removed from `rest` with the space.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

std::optional<std::int64_t> parse_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

Account account_of(const Row& row, std::size_t first) {
  const auto whole = [&](std::size_t column) { return number(row[first + column]); };
  const auto words = [&](std::size_t column) { return text(row[first + column]); };
  return {.id = whole(0),
          .key = {words(1), words(2), words(3)},
          .tenant = words(4),
          .begins = from_micros(whole(5)),
          .ends = from_micros(whole(6)),
          .limit = whole(7),
          .limit_since = from_micros(whole(8)),
          .grace = whole(9),
          .record_overage = whole(10) != 0,
          .thresholds = parse_numbers(words(11)),
          .issued = whole(12),
          .available = whole(13),
          .held = whole(14),
          .used = whole(15),
          .expired = whole(16),
          .granted = whole(17),
          .grace_used = whole(18),
          .overage = whole(19),
          .granted_left = whole(20),
          .version = whole(21)};
}

Result<Entry> entry_of(const Row& row, std::size_t first) {
  const auto whole = [&](std::size_t column) { return number(row[first + column]); };
  const auto words = [&](std::size_t column) { return text(row[first + column]); };
  const std::optional<EntryKind> kind = parse_kind(words(4));
  if (!kind) return Failure{Code::data_loss, "an entry of the unknown kind \"" + words(4) + "\""};
  return Entry{.account = whole(0),
               .version = whole(1),
               .operation = words(2),
               .reach = whole(3),
               .kind = *kind,
               .amount = whole(5),
               .about = words(6),
               .actor = words(7),
               .reason = words(8),
               .effective = from_micros(whole(9)),
               .recorded = from_micros(whole(10))};
}

Grant grant_of(const Row& row) {
  return {.id = text(row[0]),
          .rule = text(row[1]),
          .subject = text(row[2]),
          .account = number(row[3]),
          .amount = number(row[4]),
          .arrived = number(row[5]),
          .left = number(row[6]),
          .priority = number(row[7]),
          .expires = from_micros(number(row[8])),
          .created = from_micros(number(row[9])),
          .actor = text(row[10]),
          .reason = text(row[11])};
}

Result<Reservation> reservation_of(const Row& row) {
  const std::optional<ReservationState> state = parse_state(text(row[1]));
  if (!state) return Failure{Code::data_loss, "a reservation in the unknown state \"" + text(row[1]) + "\""};
  return Reservation{.id = text(row[0]),
                     .state = *state,
                     .commit_on_expiry = number(row[2]) != 0,
                     .granted = number(row[3]),
                     .actual = number(row[4]),
                     .created = from_micros(number(row[5])),
                     .expires = from_micros(number(row[6])),
                     .legs = {}};
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::string written;
  for (const std::int64_t each : numbers) {
    if (!written.empty()) written += ',';
    base::append_number(written, each);
  }
  return written;
}

std::vector<std::int64_t> parse_numbers(std::string_view written) {
  std::vector<std::int64_t> numbers;
  while (!written.empty()) {
    const std::size_t end = std::min(written.find(','), written.size());
    if (const auto value = parse_number(written.substr(0, end))) numbers.push_back(*value);
    written.remove_prefix(std::min(end + 1, written.size()));
  }
  return numbers;
}

// "1 done 5 0 0 0 0 0 0 1800000000000000 message": 1, or 2 once it was repeated; the verdict, the numbers, the expiry,
// and the rest.
std::string answer_text(const Answer& answer) {
  std::string written = "1 " + std::string(verdict_name(answer.verdict));
  Answer copy = answer;
  for (const std::int64_t* each : numbers_of(copy)) {
    written += ' ';
    base::append_number(written, *each);
  }
  written += ' ';
  base::append_number(written, micros(answer.expires));
  return written + ' ' + answer.message;
}

std::optional<Answer> parse_answer(std::string_view written) {
  if (const std::string_view mark = next_word(written); mark != "1" && mark != "2") return std::nullopt;
  const std::string_view verdict = next_word(written);
  const auto found = std::find(kVerdicts.begin(), kVerdicts.end(), verdict);
  if (found == kVerdicts.end()) return std::nullopt;
  Answer answer;
  answer.verdict = static_cast<Verdict>(found - kVerdicts.begin());
  for (std::int64_t* each : numbers_of(answer)) {
    const auto value = parse_number(next_word(written));
    if (!value) return std::nullopt;
    *each = *value;
  }
  const auto expires = parse_number(next_word(written));
  if (!expires) return std::nullopt;
  answer.expires = from_micros(*expires);
  answer.message = written;
  answer.replayed = true;
  return answer;
}

std::string replayed_answer_text(std::string written) {
  if (written.starts_with("1 ")) written.front() = '2';
  return written;
}

bool was_replayed(std::string_view written) { return written.starts_with("2 "); }

}  // namespace weir::ledger
