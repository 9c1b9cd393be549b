#include "control/nodes.h"

namespace weir::control {
namespace {

using database::Rows;
using database::Statement;

struct NodeStatements {
  Statement note;
  Statement forget_old;
  Statement count;
};

const NodeStatements kPostgresNodes{
    .note = {"INSERT INTO control_node (name, seen_at) "
             "VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) "
             "ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at"},
    .forget_old = {"DELETE FROM control_node WHERE seen_at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint "
                   "- $1::bigint"},
    .count = {"SELECT count(*)::bigint, coalesce(sum(CASE WHEN seen_at >= (extract(epoch FROM clock_timestamp()) * "
              "1000000)::bigint - $1::bigint THEN 1 ELSE 0 END), 0)::bigint FROM control_node"}};

const NodeStatements kSqliteNodes{
    .note = {"INSERT INTO control_node (name, seen_at) VALUES ($1, CAST(strftime('%s', 'now') AS INTEGER) * 1000000) "
             "ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at"},
    .forget_old = {"DELETE FROM control_node WHERE seen_at < CAST(strftime('%s', 'now') AS INTEGER) * 1000000 - $1"},
    .count = {"SELECT count(*), coalesce(sum(CASE WHEN seen_at >= CAST(strftime('%s', 'now') AS INTEGER) * 1000000 "
              "- $1 THEN 1 ELSE 0 END), 0) FROM control_node"}};

const Statement kForgetNode{"DELETE FROM control_node WHERE name = $1"};

}  // namespace

Result<NodeCounts> note_node(database::Session& session, const std::string& name) {
  const NodeStatements& statements = session.dialect() == database::Dialect::postgres ? kPostgresNodes : kSqliteNodes;
  database::Batch batch;
  batch.add(statements.note, name);
  batch.add(statements.forget_old, kNodeForgotten.count());
  if (const auto noted = session.run(batch); !noted.ok()) return noted.failure();
  const Result<Rows> rows = session.run(statements.count, kNodeLives.count());
  if (!rows.ok()) return rows.failure();
  const database::Row& row = rows.value().front();
  return NodeCounts{.live = database::number(row[1]), .expected = database::number(row[0])};
}

Status forget_node(database::Session& session, const std::string& name) {
  const Result<Rows> done = session.run(kForgetNode, name);
  if (!done.ok()) return done.failure();
  return success();
}

}  // namespace weir::control
