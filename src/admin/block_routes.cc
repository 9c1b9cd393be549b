// /admin/v1/blocks: requests that are refused, until a time or until the block is removed.
#include <algorithm>

#include "admin/operator_state.h"
#include "control/tokens.h"
#include "rules/compile/block_set.h"

namespace weir::admin {
namespace {

using control::BlockRecord;
using control::Role;

constexpr std::size_t kMostBlocksOfFile = 1'000;  // that a list shows

Block block_of(const BlockRecord& record) {
  Block block;
  block.when = record.when;
  return block;
}

void write_file_blocks(JsonWriter& out, const OperatorState& state) {
  const std::shared_ptr<const rules::Intake> intake = state.book->loaded().intake;
  if (intake == nullptr || intake->blocks == nullptr) return;
  std::size_t shown = 0;
  for (const Block& block : intake->blocks->blocks()) {
    if (!is_of_file(block)) continue;
    if (++shown > kMostBlocksOfFile) return;
    out.begin_object();
    out.member("id", block.use->id());
    write_when(out, block.when);
    out.member("all", rules::needs_all(block));
    out.member("until", block.until);
    out.member("reason", block.reason);
    out.member("actor", "file");
    out.null_member("created_at");
    out.member("hits", block.use->uses());
    out.member("last_used_at", block.use->last_used());
    out.member("source", "file");
    out.null_member("etag");
    out.end_object();
  }
}

Status check_block_body(const BlockRecord& record, bool all, const OperatorState& state) {
  const Block block = block_of(record);
  const std::vector<rules::BlockFault> faults = rules::check_block(block);
  if (!faults.empty()) return Failure{Code::invalid_argument, faults.front().field + ": " + faults.front().what};
  if (!all && rules::needs_all(block)) {
    return Failure{Code::invalid_argument,
                   "when: names no one in particular: each condition is true for nearly any value or without the "
                   "attribute; add a narrower one, or \"all\": true if that is what you want"};
  }
  if (rules::is_filed(block)) return success();
  const std::shared_ptr<const rules::Intake> intake = state.book->loaded().intake;
  const std::size_t unfiled = intake == nullptr || intake->blocks == nullptr ? 0 : intake->blocks->unfiled_count();
  if (unfiled >= rules::kMaxUnfiledBlocks) {
    return Failure{Code::invalid_argument,
                   "when: there are " + std::to_string(unfiled) +
                       " blocks without an exact value or an address already, the maximum; add such a condition"};
  }
  return success();
}

void create_block(Call& call, const OperatorState& state) {
  Members body = call.body();
  BlockRecord record;
  record.when = read_when(body);
  const bool all = body.flag("all");
  record.until = body.optional_until("until", call.now());
  record.reason = body.reason();
  if (!call.accepts(body) || !call.accepts(check_block_body(record, all, state))) return;
  record.id = control::make_id("blk");
  record.actor = call.actor().name;
  record.created = call.now();
  add_one(call, record, record.reason, describe(record));
}

void list_blocks(Call& call, const OperatorState& state) {
  Query query = call.query();
  const Page page = query.page("blocks");
  if (!call.accepts(query)) return;
  call.read([page, &state](database::Session& session) -> Result<Answer> {
    auto records = control::read_page<BlockRecord>(session, page.after, page.limit + 1);
    if (!records.ok()) return records.failure();
    for (BlockRecord& record : records.value()) record.use = state.blocks.mark_of(record.id);
    return list_answer(records.value(), page, [&state](JsonWriter& out) { write_file_blocks(out, state); });
  });
}

}  // namespace

// `hits` as they are stored: nodes add theirs every few seconds.
std::string describe(const BlockRecord& record) {
  JsonWriter out;
  out.begin_object();
  out.member("id", record.id);
  write_when(out, record.when);
  out.member("all", rules::needs_all(block_of(record)));
  out.member("until", record.until);
  out.member("reason", record.reason);
  out.member("actor", record.actor);
  out.member("created_at", record.created);
  out.member("hits", record.hits);
  out.member("last_used_at", control::last_use(record.last_used, record.use));
  out.member("source", "api");
  out.member("etag", etag_of_record(record));
  out.end_object();
  return out.take();
}

void add_block_routes(Api& api, const OperatorState& state) {
  const auto mark_of = [&state](const std::string& id) { return state.blocks.mark_of(id); };
  api.get("/blocks", [&state](Call& call) { list_blocks(call, state); });
  api.get("/blocks/{id}", [mark_of](Call& call) { show_one<BlockRecord>(call, "id", mark_of); });
  api.post("/blocks", Role::operator_, [&state](Call& call) { create_block(call, state); });
  api.remove("/blocks/{id}", Role::operator_, [](Call& call) { remove_one<BlockRecord>(call, "id"); });
}

}  // namespace weir::admin
