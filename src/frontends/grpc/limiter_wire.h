// weir.v1's requests and decisions in protobuf's wire format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/request.h"
#include "weir/result.h"

namespace weir::grpc {

inline constexpr std::size_t kMaxBatch = 256;

// One or several CheckRequests (or RefundRequests, which are the same but for `peek`). The requests refer to
// `attributes`, and their strings to the bytes read. Reused: reading again keeps the memory.
struct CheckMessages {
  std::vector<Attribute> attributes;
  std::vector<Request> requests;

  // The failure is invalid_argument: not such a message, or over a bound.
  Status read_one(std::string_view message);
  Status read_batch(std::string_view message);

 private:
  Status read(std::string_view message);
  void link();

  std::vector<std::size_t> firsts_;  // where each request's attributes begin
};

// Appends the fields of a weir.v1.Decision.
void write_decision(std::string& out, const Decision& decision);

}  // namespace weir::grpc
