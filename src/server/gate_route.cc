#include "server/gate_route.h"

#include <algorithm>
#include <map>

#include "admin/json_writer.h"
#include "ledger/reading.h"

namespace weir::server {
namespace {

using ledger::AccountKey;
using ledger::LedgerGate;

struct Compared {
  LedgerGate::Holding here;
  std::int64_t ledger = 0;  // held, by the ledger
  TimePoint expires{};

  bool same() const { return here.held() == ledger; }
};
struct Comparison {
  std::map<AccountKey, Compared> accounts;
  bool still = false;  // nothing moved while both were read: what differs then is wrong
};

Result<Comparison> compare(database::Session& session, LedgerGate& gate, const std::string& node) {
  Comparison comparison;
  std::map<AccountKey, Compared>& found = comparison.accounts;
  const LedgerGate::Movement before = gate.movement();
  const std::int64_t epoch = gate.counts().epoch;
  const Result<std::vector<ledger::HeldByNode>> slices = ledger::list_slices(session, node);
  if (!slices.ok()) return slices.failure();
  for (const ledger::HeldByNode& each : slices.value()) {
    if (each.slice.epoch != epoch || each.slice.held == 0) continue;
    found[each.account].ledger = each.slice.held;
    found[each.account].expires = each.slice.expires;
  }
  for (const LedgerGate::Holding& each : gate.holdings()) found[each.account].here = each;
  comparison.still = gate.movement().is_still_since(before);
  return comparison;
}

bool all_same(const Comparison& compared) {
  return std::all_of(compared.accounts.begin(), compared.accounts.end(),
                     [](const auto& each) { return each.second.same(); });
}

std::string json_of(const Comparison& compared, const LedgerGate::Counts& counts, const std::string& node) {
  admin::JsonWriter out;
  out.begin_object();
  out.member("node", node);
  out.member("epoch", counts.epoch);
  out.member("usable", counts.usable);
  out.member("log_bytes", counts.log_bytes);
  out.member("agrees", all_same(compared));
  out.member("still", compared.still);
  out.begin_array("items");
  for (const auto& [key, each] : compared.accounts) {
    out.begin_object();
    out.member("rule", key.rule);
    out.member("subject", key.subject);
    out.member("period", key.period);
    out.member("left", each.here.left);
    out.member("pending", each.here.pending);
    out.member("unlogged", each.here.unlogged);
    out.member("unsent", each.here.unsent);
    out.member("held", each.ledger);
    out.member("expires_at", each.ledger > 0 ? std::optional<TimePoint>(each.expires) : std::nullopt);
    out.member("agrees", each.same());
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return out.take();
}

}  // namespace

void add_gate_route(admin::Api& api, LedgerGate& gate, const std::string& node) {
  api.get("/quota-gate", [&gate, node](admin::Call& call) {
    call.read([&gate, node](database::Session& session) -> Result<admin::Answer> {
      const Result<Comparison> compared = compare(session, gate, node);
      if (!compared.ok()) return compared.failure();
      return admin::json_answer(json_of(compared.value(), gate.counts(), node));
    });
  });
}

}  // namespace weir::server
