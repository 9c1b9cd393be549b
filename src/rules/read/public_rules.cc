// The public functions of weir/rules_file.h.
#include <utility>

#include "rules/read/rules_file.h"
#include "rules/read/rules_source.h"
#include "weir/rules_file.h"

namespace weir {
namespace {

Result<RulesFile> checked_rules(const rules::SourceTexts& texts, const std::string& name, TimePoint now) {
  RulesFile file;
  Result<Rules> read = rules::parse_rules(texts, name, now, file.warnings);
  if (!read.ok()) return read.failure();
  file.rules = std::move(read).value();
  return file;
}

}  // namespace

Result<RulesFile> read_rules(const std::filesystem::path& path, TimePoint now) {
  const Result<rules::SourceTexts> texts = rules::read_source(path);
  if (!texts.ok()) return texts.failure();
  return checked_rules(texts.value(), path.string(), now);
}

Result<RulesFile> parse_rules(std::string_view text, const std::string& name, TimePoint now) {
  return checked_rules({{name, std::string(text)}}, name, now);
}

}  // namespace weir
