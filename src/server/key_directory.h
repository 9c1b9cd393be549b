// LiveKeys: the API keys that this node knows, for identity. Replaced as a whole when keys change; look-ups hold no
// lock but for the moment in which they fetch the pointer. Thread-safe.
#pragma once

#include <memory>
#include <mutex>

#include "control/key_hash.h"
#include "control/record_list.h"
#include "control/records.h"
#include "identity/known_keys.h"

namespace weir::server {

class LiveKeys final : public identity::KeyDirectory {
 public:
  using Records = std::shared_ptr<const control::RecordList<control::KeyRecord>>;

  // Nothing is found without a hasher.
  void set(Records records, std::shared_ptr<const control::KeyHasher> hasher);
  std::shared_ptr<const identity::KnownKeys> current() const override;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const identity::KnownKeys> current_;  // guarded by mutex_
};

}  // namespace weir::server
