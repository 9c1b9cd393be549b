// ExpiryAudit: writes one entry to the audit trail for each token and each API key whose time has passed, by one of the
// nodes that share the database.
//
// look() on the background thread; borrows the database.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "database/database.h"
#include "weir/time.h"

namespace weir::server {

class ExpiryAudit {
 public:
  static constexpr std::int64_t kMostAtOnce = 500;

  ExpiryAudit(database::Database& database, std::string node) : database_(database), node_(std::move(node)) {}

  // `due(after)`: something that this node knows has expired after that time. The database is asked only then.
  void look(TimePoint now, const std::function<bool(TimePoint after)>& due);

 private:
  // Whether there may be more.
  Result<bool> write_entries(database::Session& session, TimePoint now) const;

  database::Database& database_;
  const std::string node_;
  std::atomic<bool> running_{false};
  std::atomic<std::int64_t> looked_us_{0};  // what expired until then has its entry
};

}  // namespace weir::server
