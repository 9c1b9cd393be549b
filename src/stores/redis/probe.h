// Probe: asks a server whether it can decide again, in the way in which calls ask.
//
// Two scripts run on buckets of the probe's own, one that takes and one that resets. Together they use every command
// that decisions use, so a server that passes serves them too: one on which scripts are forbidden, that is a replica,
// or that has no memory left does not pass. The buckets are gone afterwards.
//
// Belongs to one loop. At most one probe is under way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "stores/redis/connection.h"
#include "stores/redis/scripts.h"
#include "weir/store.h"

namespace weir::redis {

class ProbeOwner {
 public:
  // Nothing: it passed. A text that is empty: no answer came.
  virtual void on_probed(const std::optional<Trouble>& trouble, SteadyTime now) = 0;

 protected:
  ~ProbeOwner() = default;
};

class Probe final : private ReplyHandler {
 public:
  // The bucket lives in `slot`. `server_time`: scripts are to use the server's clock. Borrows scripts and owner.
  Probe(const ScriptSet& scripts, std::uint16_t slot, bool server_time, ProbeOwner& owner);

  // The owner is called once, later.
  void send(Connection& connection, SteadyTime now, std::chrono::milliseconds deadline);

 private:
  void ask(SteadyTime now);
  void on_reply(Reply reply, SteadyTime now) override;
  void on_lost(FailureKind kind, SteadyTime now) override;

  const ScriptSet& scripts_;
  const std::uint16_t slot_;
  const std::int64_t now_us_;
  ProbeOwner& owner_;
  const Allowance allowance_;
  std::array<Charge, 2> charges_;

  Connection* connection_ = nullptr;
  SteadyTime deadline_{};
  bool by_body_ = false;
  bool unknown_script_ = false;
  int unanswered_ = 0;
  std::optional<Trouble> trouble_;
};

}  // namespace weir::redis
