// RuleKeeper: the server's rules, read at the start, on request and when their file changes. Rules that do not hold up
// are logged (told_refusal.h says when) and refused; the last good ones stay in force.
//
// load() before anything else; reload() from any thread; poll() from one thread. Borrows the clock and the log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "observe/log.h"
#include "rules/file_watch.h"
#include "rules/rule_book.h"
#include "server/told_refusal.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

class RuleKeeper {
 public:
  // A file or a folder; an empty path means the quickstart rules, which never change.
  // `supported`: see RuleBook.
  RuleKeeper(std::filesystem::path path, Clock& clock, observe::Log& log, rules::AllowanceCheck supported = {},
             rules::RulesFormat format = rules::RulesFormat::weir);

  // A failure here is final: there is nothing good to fall back to.
  Status load();
  // Whatever comes of it, the log has one line.
  Status reload();
  // Reloads if the file has changed since it was last looked at.
  void poll();

  const std::shared_ptr<rules::RuleBook>& book() const { return book_; }

 private:
  Status read_again(bool asked);
  void tell_loaded();
  void tell_refused(const Failure& failure, std::string_view message);
  std::uint64_t contents() const;

  const std::filesystem::path path_;
  const rules::RulesFormat format_;
  Clock& clock_;
  observe::Log& log_;
  const std::shared_ptr<rules::RuleBook> book_;
  std::optional<rules::FileWatch> watch_;
  ToldRefusal told_;
};

}  // namespace weir::server
