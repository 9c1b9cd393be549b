#include "control/rule_versions.h"

#include <array>
#include <charconv>

#include "control/tokens.h"

namespace weir::control {
namespace {

using database::Row;
using database::Rows;
using database::Statement;

const Statement kAddVersion{
    "INSERT INTO rules_version (at, author, reason, node, source, hash, rules, content) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING version"};
const Statement kLatestVersion{
    "SELECT version, at, author, reason, node, source, hash, rules, content FROM rules_version "
    "WHERE CAST($1 AS TEXT) = '' OR source = $1 ORDER BY version DESC LIMIT 1"};
const Statement kFindVersion{
    "SELECT version, at, author, reason, node, source, hash, rules, content FROM rules_version WHERE version = $1"};
const Statement kListVersions{
    "SELECT version, at, author, reason, node, source, hash, rules, '' FROM rules_version WHERE version < $1 "
    "ORDER BY version DESC LIMIT $2"};

RuleVersion version_of(const Row& row) {
  return {.version = database::number(row[0]),
          .at = from_micros(database::number(row[1])),
          .author = database::text(row[2]),
          .reason = database::text(row[3]),
          .node = database::text(row[4]),
          .source = database::text(row[5]),
          .hash = database::text(row[6]),
          .rules = database::number(row[7]),
          .text = database::text(row[8])};
}

Result<std::optional<RuleVersion>> first_version_of(const Result<Rows>& rows) {
  if (!rows.ok()) return rows.failure();
  if (rows.value().empty()) return std::optional<RuleVersion>();
  return std::optional<RuleVersion>(version_of(rows.value().front()));
}

}  // namespace

std::string hash_of_rules(std::string_view text) { return hash_of_token(text).substr(0, 16); }

Result<std::int64_t> add_rule_version(database::Session& session, const RuleVersion& version) {
  const Result<Rows> rows = session.run(kAddVersion, micros(version.at), version.author, version.reason, version.node,
                                        version.source, version.hash, version.rules, version.text);
  if (!rows.ok()) return rows.failure();
  return database::number(rows.value().front().front());
}

Result<std::optional<RuleVersion>> latest_rule_version(database::Session& session, std::string_view source) {
  return first_version_of(session.run(kLatestVersion, std::string(source)));
}

Result<std::optional<RuleVersion>> find_rule_version(database::Session& session, std::int64_t version) {
  return first_version_of(session.run(kFindVersion, version));
}

Result<std::vector<RuleVersion>> list_rule_versions(database::Session& session, std::int64_t below,
                                                    std::int64_t limit) {
  const Result<Rows> rows = session.run(kListVersions, below, limit);
  if (!rows.ok()) return rows.failure();
  std::vector<RuleVersion> versions;
  for (const Row& row : rows.value()) versions.push_back(version_of(row));
  return versions;
}

// The numbers, and how long each text is, on one line; then the texts one after the other.
std::string encode(const RuleVersion& version) {
  std::string out =
      std::to_string(version.version) + " " + std::to_string(micros(version.at)) + " " + std::to_string(version.rules);
  const std::string* const texts[] = {&version.author, &version.reason, &version.node,
                                      &version.source, &version.hash,   &version.text};
  for (const std::string* text : texts) out += " " + std::to_string(text->size());
  out += "\n";
  for (const std::string* text : texts) out += *text;
  return out;
}

Result<RuleVersion> decode_rule_version(std::string_view text) {
  const Failure damaged{Code::data_loss, "the kept rules are damaged"};
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return damaged;
  std::array<std::int64_t, 9> numbers{};
  const char* at = text.data();
  for (std::int64_t& number : numbers) {
    const auto [next, error] = std::from_chars(at, text.data() + end, number);
    if (error != std::errc() || number < 0) return damaged;
    at = next == text.data() + end ? next : next + 1;
  }
  RuleVersion version;
  version.version = numbers[0];
  version.at = from_micros(numbers[1]);
  version.rules = numbers[2];
  text.remove_prefix(end + 1);
  std::string* const texts[] = {&version.author, &version.reason, &version.node,
                                &version.source, &version.hash,   &version.text};
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const auto size = static_cast<std::size_t>(numbers[3 + i]);
    if (size > text.size()) return damaged;
    *texts[i] = text.substr(0, size);
    text.remove_prefix(size);
  }
  if (!text.empty()) return damaged;
  return version;
}

}  // namespace weir::control
