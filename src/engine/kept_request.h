// KeptRequest: a copy of what observers need of a request (RequestContext), for a store that answers after the request
// is gone. Bounded, because as many are kept as there are requests waiting for the store.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/rule_set.h"
#include "weir/request.h"
#include "weir/trace.h"

namespace weir::engine {

class KeptRequest {
 public:
  // Names and values together. Attributes that do not fit are left out as a whole.
  static constexpr std::size_t kMaxBytes = 4096;

  // Keeps `tenant`, `action`, `method`, `path`, and the attributes that the matching rules count by.
  KeptRequest(const Request& request, const rules::Matches& matches);
  KeptRequest(const KeptRequest&) = delete;
  KeptRequest& operator=(const KeptRequest&) = delete;

  std::span<const Attribute> attributes() const { return attributes_; }
  bool complete() const { return complete_; }
  // Null: the request was part of none.
  const TraceContext* trace() const { return trace_ ? &*trace_ : nullptr; }

 private:
  void add(const Attribute& attribute);

  std::string text_;  // never grows after it was reserved
  std::vector<Attribute> attributes_;
  bool complete_ = true;
  std::optional<TraceContext> trace_;
};

}  // namespace weir::engine
