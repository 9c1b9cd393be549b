#include "frontends/transport/request_identity.h"

#include "base/utf8.h"

namespace weir::transport {

std::string RequestRefusal::message(std::string_view where, std::string_view prefix) const {
  constexpr std::size_t kShownName = 64;
  std::string message(where);
  if (!attribute.empty()) {
    std::size_t shown = 0;
    while (shown < attribute.size() && shown < kShownName) shown += base::character_bytes(attribute.substr(shown));
    message.append(prefix).append(attribute.substr(0, shown));
    if (shown < attribute.size()) message += "…";
  }
  if (!message.empty()) message += ": ";
  return message.append(text);
}

std::optional<MalformedRequest> identify(RequestIdentity& identity, std::vector<Request>& requests,
                                         std::vector<std::size_t>& refused) {
  refused.clear();
  identity.begin();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::optional<RequestRefusal> refusal = identity.add(requests[i].attributes);
    if (!refusal) continue;
    if (refusal->malformed) return MalformedRequest{i, *refusal};
    refused.push_back(i);
  }
  std::size_t kept = 0;
  std::size_t next_refused = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (next_refused < refused.size() && refused[next_refused] == i) {
      ++next_refused;
      continue;
    }
    const IdentifiedAttributes identified = identity.identified(kept);
    requests[kept] = requests[i];
    requests[kept].attributes = identified.attributes;
    requests[kept].derived = identified.derived;
    ++kept;
  }
  requests.resize(kept);
  return std::nullopt;
}

std::optional<RequestRefusal> identify(RequestIdentity& identity, Request& request) {
  identity.begin();
  if (auto refusal = identity.add(request.attributes)) return refusal;
  const IdentifiedAttributes identified = identity.identified(0);
  request.attributes = identified.attributes;
  request.derived = identified.derived;
  return std::nullopt;
}

Decision refused_decision() {
  Decision decision;
  decision.allowed = false;
  decision.reason = Reason::blocked;
  return decision;
}

}  // namespace weir::transport
