// ResetAudit: entries of the audit trail about resets over the HTTP API (`POST /v1/reset`, `weir reset`). An entry says
// which rules' buckets were forgotten, each with the keyed hash of who was counted; the attributes themselves only if
// they may be logged (`log.subjects: plain`), and secrets never.
//
// Thread-safe. Borrows the queue, which outlives every record.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "frontends/http/reset_trail.h"
#include "keys/key_encoder.h"
#include "observe/subject_text.h"
#include "server/audit_queue.h"
#include "weir/time.h"

namespace weir::server {

class ResetAudit final : public http::ResetTrail {
 public:
  static constexpr std::size_t kMostRules = 32;  // that an entry lists

  struct Options {
    std::string node;
    bool plain = false;
    observe::SecretNames secrets;
    HashKey hash_key{};
    // Of a request's token: its name in the trail; empty: it has none. None: callers have no tokens.
    std::function<std::string(const http::HttpRequest&)> name_of;
  };

  ResetAudit(AuditQueue& queue, std::shared_ptr<Clock> clock, Options options);

  std::shared_ptr<http::ResetRecord> begin(const http::HttpRequest& request, const transport::Peer& peer,
                                           std::span<const Attribute> attributes, std::string_view reason) override;

 private:
  class Record;

  std::string actor_of(const http::HttpRequest& request) const;
  std::string attributes_json(std::span<const Attribute> attributes) const;

  AuditQueue& queue_;
  const std::shared_ptr<Clock> clock_;
  const Options options_;
  const keys::KeyEncoder encoder_;
};

}  // namespace weir::server
