#include "server/journal_tables.h"

namespace weir::server {
namespace {

// `attributes` has " name=hash " for each attribute, with 16 hexadecimal digits of its value's keyed hash; `entry` is
// the entry as the admin API shows it. Times are microseconds since 1970 (UTC). The same for both databases.
constexpr std::string_view kCreate = R"sql(
CREATE TABLE decision_journal (
  at BIGINT NOT NULL,
  node TEXT NOT NULL,
  ring BIGINT NOT NULL,
  place BIGINT NOT NULL,
  allowed BIGINT NOT NULL,
  shadow BIGINT NOT NULL,
  audited BIGINT NOT NULL,
  reason TEXT NOT NULL,
  rule TEXT NOT NULL,
  attributes TEXT NOT NULL,
  entry TEXT NOT NULL,
  PRIMARY KEY (at, node, ring, place)
);
CREATE INDEX decision_journal_rule ON decision_journal (rule, at);
)sql";

constexpr database::Migration kMigrations[] = {{"journal", 1, "decisions", kCreate, kCreate}};

}  // namespace

std::span<const database::Migration> journal_migrations() { return kMigrations; }

}  // namespace weir::server
