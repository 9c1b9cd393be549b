// ToyRequestIdentity: for the tests of front ends. Replaces the value of `ip` by "net(…)" and adds `made`; refuses the
// credentials of `key` = "revoked" and takes an `ip` of "nowhere" for malformed.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "frontends/transport/request_identity.h"

namespace weir::transport {

class ToyRequestIdentity final : public RequestIdentity {
 public:
  bool needs_token = false;  // of one descriptor at least

  void begin() override {
    texts_.clear();
    requests_.clear();
    has_token_ = false;
  }
  std::optional<RequestRefusal> add(std::span<const Attribute> sent) override {
    std::vector<Attribute> made;
    for (const Attribute& each : sent) {
      if (each.name == "key" && each.value == "revoked") return refused();
      if (each.name == "ip" && each.value == "nowhere") return RequestRefusal{true, each.name, "is not an IP address"};
      has_token_ |= each.name == "token";
      made.push_back(each);
      if (each.name == "ip") made.back().value = texts_.emplace_back("net(" + std::string(each.value) + ")");
    }
    made.push_back({"made", "yes"});
    requests_.push_back(std::move(made));
    return std::nullopt;
  }
  std::optional<RequestRefusal> add_descriptor(std::span<const Attribute> sent) override { return add(sent); }
  std::optional<RequestRefusal> end_descriptors() override {
    return needs_token && !has_token_ ? std::optional(refused()) : std::nullopt;
  }
  IdentifiedAttributes identified(std::size_t i) const override { return {requests_[i], 1}; }

 private:
  static RequestRefusal refused() { return {false, {}, "the credentials were not accepted"}; }

  std::deque<std::string> texts_;
  std::vector<std::vector<Attribute>> requests_;
  bool has_token_ = false;
};

}  // namespace weir::transport
