#include "server/sent_identity.h"

namespace weir::server {

using identity::SentPart;
using transport::RequestRefusal;

void SentIdentity::begin() {
  identity_.renew();
  now_ = clock_.wall();
  requests_.clear();
}

std::optional<RequestRefusal> SentIdentity::add(std::span<const Attribute> sent) {
  const auto refusal = identity_->identify_sent(sent, SentPart::request, now_, requests_);
  if (!refusal) return std::nullopt;
  return refused(*refusal);
}

std::optional<RequestRefusal> SentIdentity::add_descriptor(std::span<const Attribute> sent) {
  const auto refusal = identity_->identify_sent(sent, SentPart::descriptor, now_, requests_);
  if (!refusal) return std::nullopt;
  // The caller gets no text, and a mistake in its configuration would refuse every request.
  if (refusal->kind == identity::Refusal::Kind::malformed) {
    log_.warn("descriptor_refused", "identity cannot use a descriptor; Envoy is answered OVER_LIMIT",
              {{"key", refusal->attribute}, {"cause", refusal->text}});
  }
  return refused(*refusal);
}

std::optional<RequestRefusal> SentIdentity::end_descriptors() {
  const auto refusal = identity_->check_descriptors(requests_);
  if (!refusal) return std::nullopt;
  return refused(*refusal);
}

RequestRefusal SentIdentity::refused(const identity::SentRefusal& refusal) {
  live_.count(refusal.kind);
  log_.debug("caller_refused", "refused before any rule was evaluated", {{"cause", refusal.cause}});
  return {refusal.kind == identity::Refusal::Kind::malformed, refusal.attribute, refusal.text};
}

}  // namespace weir::server
