// QuotaNotices: tells people that an account has reached a threshold of its rule (`notify`): a log line, a metric, and
// a webhook if one is set. Each threshold once per period, on one of the nodes that share the ledger.
//
// The webhook gets a POST with JSON, signed: X-Weir-Timestamp is Unix seconds, X-Weir-Signature is "sha256=" and the
// hexadecimal HMAC-SHA256 of "<timestamp>.<body>" under the secret. It is tried again until it answers 2xx, so a
// receiver may see a notice twice, with the same `id`.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "database/database.h"
#include "ledger/reading.h"
#include "server/server_context.h"
#include "server/webhook.h"

namespace weir::server {

class QuotaNotices {
 public:
  // The first two are borrowed. The node's name stays the same when it starts again.
  QuotaNotices(database::Database& database, ServerContext& context, std::string node)
      : database_(database), context_(context), node_(std::move(node)) {}

  // Reads the secret. Failure: the settings are wrong.
  Status open();
  // What is pending. On a thread that may wait.
  void deliver();
  void add_facts(observe::Facts& facts) const;

 private:
  bool tell(const ledger::PendingNotice& notice);
  static std::string body_of(const ledger::PendingNotice& notice);

  database::Database& database_;
  ServerContext& context_;
  const std::string node_;
  std::unique_ptr<Webhook> webhook_;  // null: none is set
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> failed_{0};
  // Only on the thread that delivers.
  std::map<std::pair<std::int64_t, std::int64_t>, int> logged_;  // account and threshold that the webhook did not take
  TimePoint next_try_{};
  Duration pause_{0};
};

}  // namespace weir::server
