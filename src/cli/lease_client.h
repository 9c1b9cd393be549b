// LeaseClient: the lease routes of a Weir server, for the verbs of `weir lease`. Blocking; not thread-safe. Failures
// are those of server_call.h, and not_found (not a handle of this service), failed_precondition (the lease is gone).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/attribute_args.h"
#include "cli/decision_view.h"
#include "cli/http_client.h"

namespace weir::cli {

struct LeaseView {
  std::string handle;
  std::int64_t expires_at_ms = 0;
  std::int64_t ttl_ms = 0;
  std::optional<std::int64_t> fencing_token;  // none: given without the store
};

struct LeaseAnswerView {
  DecisionView decision;
  LeaseView lease;  // if the decision is allowed
};

struct ListedLeaseView {
  std::string rule;
  std::string handle;
  std::int64_t units = 0;
  std::int64_t expires_at_ms = 0;
};

struct LeaseListView {
  std::string json;
  std::vector<ListedLeaseView> leases;
  bool complete = true;
};

class LeaseClient {
 public:
  explicit LeaseClient(ServerTarget target) : client_(std::move(target)) {}

  struct Wanted {
    const AttributeArgs& attributes;
    std::int64_t cost = 1;
    std::int64_t ttl_ms = 0;  // 0: the rule's
    std::string id;
  };
  Result<LeaseAnswerView> acquire(const Wanted& wanted);
  Result<LeaseView> renew(std::string_view handle, std::int64_t ttl_ms);
  Status release(std::string_view handle);
  Result<LeaseListView> list(const AttributeArgs& attributes);

 private:
  HttpClient client_;
};

}  // namespace weir::cli
