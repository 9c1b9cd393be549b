#include "observe/journal.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "observe/decision_log.h"

namespace weir::observe {
namespace {

constexpr Duration kCountedTogether = std::chrono::seconds(1);
// The sample gets one part in this many of the memory.
constexpr std::size_t kSamplePart = 4;

const RuleOutcome* shadow_denier(const Decision& decision) {
  for (const RuleOutcome& rule : decision.rules) {
    if (rule.mode == Mode::shadow && !rule.allowed) return &rule;
  }
  return nullptr;
}

std::string_view digits_text(const SubjectDigits& digits) { return {digits.data(), digits.size()}; }

bool counts_by(const JournalEntry& entry, std::string_view rule) {
  if (const RecordRule* decisive = entry.decisive(); !entry.allowed && decisive != nullptr) {
    return decisive->rule == rule;
  }
  return std::any_of(entry.rules.begin(), entry.rules.end(), [&](const RecordRule& each) { return each.rule == rule; });
}

bool has_subject(const JournalEntry& entry, std::string_view digits) {
  return std::any_of(entry.rules.begin(), entry.rules.end(), [&](const RecordRule& each) {
    return digits_text(subject_digits(each.subject)).starts_with(digits);
  });
}

void append_hex(std::string& out, std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  out.append(digits, end);
}

}  // namespace

JournalWriter::JournalWriter(const JournalOptions& options, JournalRing& denials, JournalRing& sample,
                             std::uint64_t seed)
    : options_(options.record),
      encoder_(options.hash_key),
      denials_(denials),
      sample_(sample),
      share_((static_cast<std::uint64_t>(options.sample) << 32) / kWholeShare),
      salt_(seed | 1),
      random_(seed) {}

bool JournalWriter::wants(const Decision& decision) {
  return !decision.allowed || shadow_denier(decision) != nullptr || draw(decision.at);
}

void JournalWriter::on_decision(const Decision& decision, const RequestContext& context) {
  if (!decision.allowed) return keep_denial(decision.decisive(), decision, context);
  if (const RuleOutcome* const rule = shadow_denier(decision)) return keep_denial(rule, decision, context);
  keep(sample_, decision, context);
}

bool JournalWriter::draw(TimePoint at) {
  random_ = random_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
  if (at >= second_ends_ || at + std::chrono::seconds(1) < second_ends_) [[unlikely]] {
    second_ends_ = at + std::chrono::seconds(1);
    kept_ = 0;
  }
  return kept_++ < kSurelyKept || random_ >> 32 < share_;
}

void JournalWriter::keep_denial(const RuleOutcome* rule, const Decision& decision, const RequestContext& context) {
  std::uint64_t request = hash_of(context.attributes) ^ static_cast<std::uint64_t>(decision.reason) << 56;
  if (rule != nullptr) request ^= rule->subject.low ^ std::uint64_t{rule->ordinal} << 32;
  Repeated& before = repeated_[request % kRepeated];
  // After the clock was set back, the same may not have been within a second.
  const bool soon = decision.at < before.until && before.until <= decision.at + kCountedTogether;
  if (before.request == request && soon && denials_.increment(before.position, record_count_offset())) return;
  before = {request, keep(denials_, decision, context), decision.at + kCountedTogether};
}

std::uint64_t JournalWriter::keep(JournalRing& ring, const Decision& decision, const RequestContext& context) {
  record_.clear();
  append_record(record_, decision, context, options_, encoder_);
  return ring.append(record_);
}

// Only to tell requests apart that are counted together, so nothing secret depends on it.
std::uint64_t JournalWriter::hash_of(std::span<const Attribute> attributes) const {
  const std::hash<std::string_view> hash;
  std::uint64_t sum = salt_;
  for (const Attribute& each : attributes) {
    sum = (sum ^ hash(each.name)) * 0x9E37'79B9'7F4A'7C15U;
    sum = (sum ^ sum >> 32 ^ hash(each.value)) * 0xC2B2'AE3D'27D4'EB4FU;
  }
  return sum ^ sum >> 29;
}

std::string place_text(const JournalPlace& place) {
  std::string text;
  append_hex(text, static_cast<std::uint64_t>(micros(place.at)));
  text += '-';
  append_hex(text, place.ring);
  text += '-';
  append_hex(text, place.position);
  return text;
}

std::optional<JournalPlace> place_from_text(std::string_view text) {
  std::uint64_t numbers[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, numbers[i], 16);
    if (error != std::errc() || (i < 2 ? stop == end || *stop != '-' : stop != end)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + (i < 2 ? 1 : 0));
  }
  if (numbers[0] > INT64_MAX || numbers[1] > UINT32_MAX) return std::nullopt;
  return JournalPlace{from_micros(static_cast<std::int64_t>(numbers[0])), static_cast<std::uint32_t>(numbers[1]),
                      numbers[2]};
}

Journal::Journal(const JournalOptions& options, std::size_t loops) : options_(options), encoder_(options.hash_key) {
  const std::size_t each = options.bytes / std::max<std::size_t>(loops, 1);
  constexpr std::size_t kLeast = 4 * JournalRing::kMaxRecord;
  for (std::size_t i = 0; i < loops; ++i) {
    const std::size_t sample = std::max(each / kSamplePart, kLeast);
    const std::size_t denials = std::max(each - std::min(each, sample), kLeast);
    rings_.push_back(std::make_unique<JournalRing>(denials));
    rings_.push_back(std::make_unique<JournalRing>(sample));
    bytes_ += denials + sample;
  }
}

std::shared_ptr<JournalWriter> Journal::make_writer(std::size_t loop, std::uint64_t seed) {
  return std::make_shared<JournalWriter>(options_, *rings_[2 * loop], *rings_[2 * loop + 1], seed);
}

Journal::Filter Journal::filter(const JournalQuery& query) const {
  Filter filter;
  filter.query_ = query;
  for (const auto& [name, value] : query.attributes) {
    filter.hashes_.emplace_back(name, attribute_hash(name, value, encoder_));
  }
  return filter;
}

bool Journal::Filter::fits(const RecordGlance& glance) const {
  if (query_.from && glance.at < *query_.from) return false;
  if (query_.until && glance.at >= *query_.until) return false;
  if (query_.reason && glance.reason != *query_.reason) return false;
  return query_.outcome == JournalQuery::Outcome::any ||
         glance.allowed == (query_.outcome != JournalQuery::Outcome::denied);
}

bool Journal::Filter::fits(const JournalEntry& entry) const {
  if (!fits(RecordGlance{entry.at, entry.allowed, entry.reason})) return false;
  if (query_.outcome == JournalQuery::Outcome::shadow && !entry.shadow_denied()) return false;
  if (!query_.rule.empty() && !counts_by(entry, query_.rule)) return false;
  if (!query_.subject.empty() && !has_subject(entry, query_.subject)) return false;
  return std::all_of(hashes_.begin(), hashes_.end(), [&](const auto& wanted) {
    return std::any_of(entry.attributes.begin(), entry.attributes.end(), [&](const JournalAttribute& each) {
      return each.name == wanted.first && each.hash == wanted.second;
    });
  });
}

std::vector<JournalEntry> Journal::search(const Filter& filter, std::size_t count,
                                          const std::optional<JournalPlace>& after) const {
  // A heap whose front is the oldest of the newest.
  const auto newer = [](const JournalEntry& left, const JournalEntry& right) {
    return place_of(left) > place_of(right);
  };
  std::vector<JournalEntry> found;
  for (std::uint32_t ring = 0; ring < rings_.size() && count > 0; ++ring) {
    const std::uint64_t end = rings_[ring]->end().position;
    rings_[ring]->read(0, [&](std::uint64_t position, std::string_view record) {
      if (position >= end) return false;
      const RecordGlance glance = glance_at(record);
      const JournalPlace place{glance.at, ring, position};
      const bool too_old = found.size() == count && place < place_of(found.front());
      if (too_old || (after && place >= *after) || !filter.fits(glance)) return true;
      JournalEntry entry = read_record(record);
      if (!filter.fits(entry)) return true;
      entry.ring = ring;
      entry.position = position;
      if (found.size() == count) {
        std::pop_heap(found.begin(), found.end(), newer);
        found.pop_back();
      }
      found.push_back(std::move(entry));
      std::push_heap(found.begin(), found.end(), newer);
      return true;
    });
  }
  std::sort_heap(found.begin(), found.end(), newer);
  return found;
}

Journal::Follower Journal::follow() const {
  Follower follower(*this);
  for (const auto& ring : rings_) follower.read_.push_back(ring->end());
  return follower;
}

Journal::News Journal::Follower::next(const Filter& filter, std::size_t most) {
  News news;
  for (std::uint32_t ring = 0; ring < read_.size(); ++ring) {
    const JournalRing& from = *journal_->rings_[ring];
    JournalRing::End& read = read_[ring];
    const JournalRing::End end = from.end();
    std::size_t looked_at = 0;
    from.read(read.position, [&](std::uint64_t position, std::string_view record) {
      if (position >= end.position || looked_at == most) return false;
      ++looked_at;
      if (!filter.fits(glance_at(record))) return true;
      JournalEntry entry = read_record(record);
      if (!filter.fits(entry)) return true;
      entry.ring = ring;
      entry.position = position;
      news.entries.push_back(std::move(entry));
      return true;
    });
    news.lost += end.written - read.written - looked_at;
    read = end;
  }
  std::sort(news.entries.begin(), news.entries.end(),
            [](const JournalEntry& left, const JournalEntry& right) { return place_of(left) < place_of(right); });
  return news;
}

std::uint32_t Journal::count_of(const JournalEntry& entry) const {
  std::uint32_t count = entry.count;
  rings_[entry.ring]->read(entry.position, [&](std::uint64_t position, std::string_view record) {
    if (position == entry.position) count = read_record(record).count;
    return false;
  });
  return count;
}

std::uint64_t Journal::written() const {
  std::uint64_t sum = 0;
  for (const auto& ring : rings_) sum += ring->end().written;
  return sum;
}

}  // namespace weir::observe
