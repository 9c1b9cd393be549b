// HoldIds: the ids and sealed handles of one engine's leases and reservations.
//
// An id is random, or a keyed hash of the id that a client made, its caller and the request's attributes, so that the
// same words of another caller or about another subject are another id. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/estimates.h"
#include "engine/hold_handle.h"
#include "engine/recent_handles.h"
#include "keys/key_encoder.h"
#include "keys/sealer.h"
#include "weir/request.h"

namespace weir::engine {

class HoldIds {
 public:
  explicit HoldIds(const HashKey& key);

  BucketKey random();
  // The same each time for the same call (weir/request.h); random for others.
  BucketKey of(HoldHandle::Use use, const Once& once);
  // The order of the attributes makes no difference.
  BucketKey named(HoldHandle::Use use, std::string_view caller, std::string_view id,
                  std::span<const Attribute> attributes) const;

  // What `rule` learns from a request with this value of the attribute that it learns by.
  Estimates::Subject learned_by(std::string_view rule, std::string_view value) const;

  std::string seal(const HoldHandle& handle);
  // Between the handles of two hash keys (rotating_limiter.h).
  static constexpr char kSeparator = '.';

  // What a handle says, or the half of it that was sealed under this key, into a new `handle`. `bytes` is where its
  // texts are kept. False: not one of ours for this use, which is counted.
  [[nodiscard]] bool open(std::string_view text, HoldHandle::Use use, HandleBytes& bytes, HoldHandle& handle);
  std::uint64_t forged() const { return forged_.load(std::memory_order_relaxed); }

 private:
  bool open_sealed(std::string_view half, HandleBytes& bytes, HoldHandle& handle) const;

  const HashKey key_;
  const keys::Sealer sealer_;
  const std::uint64_t random_seed_;
  std::atomic<std::uint64_t> pages_{0};
  std::atomic<std::uint64_t> forged_{0};
  RecentHandles recent_;
};

}  // namespace weir::engine
