// LiveIdentity: identifies callers, as configured, and reloaded when a file of keys changes. Invalid files
// are logged (last_rejection.h says when) and refused; the last good ones stay.
//
// It also counts refused callers. load() before anything else; poll() from one thread; the rest from any. Borrows
// the configuration and the log.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "identity/identity.h"
#include "observe/log.h"
#include "rules/read/file_watch.h"
#include "server/config.h"
#include "server/last_rejection.h"
#include "weir/result.h"

namespace weir::server {

class LiveIdentity {
 public:
  LiveIdentity(const Config& config, const keys::KeyRing& keys, observe::Log& log);

  // Whom API keys belong to. Before load().
  void use_keys(std::shared_ptr<const identity::KeyDirectory> keys) { directory_ = std::move(keys); }

  // A failure here is final: there is nothing good to fall back to.
  Status load();
  // The result is logged in any case, if there are files at all.
  Status reload();
  // Reloads if a file has changed since it was last checked.
  void poll();

  std::shared_ptr<const identity::Identity> current() const;
  // Changes whenever current() does: one load shows that nothing has.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  void count(identity::Refusal::Kind kind) {
    refused_[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t refused(identity::Refusal::Kind kind) const {
    return refused_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  // What is wrong with the files, if the last reload failed.
  std::string last_error() const;

 private:
  Status read_again(bool asked);
  Status put(const Result<std::shared_ptr<const identity::Identity>>& made);

  const Config& config_;
  const keys::KeyRing keys_;
  observe::Log& log_;
  std::shared_ptr<const identity::KeyDirectory> directory_;  // constant after load()
  std::vector<rules::FileWatch> watches_;
  LastRejection told_;
  std::atomic<std::uint64_t> version_{0};
  std::array<std::atomic<std::uint64_t>, 3> refused_{};  // by kind

  mutable std::mutex mutex_;
  std::shared_ptr<const identity::Identity> current_;  // guarded by mutex_
  std::string last_error_;                             // guarded by mutex_
};

// The current identity as one loop uses it. Borrows the live one.
class IdentitySnapshot {
 public:
  explicit IdentitySnapshot(const LiveIdentity& live) : live_(live) {}

  // One load shows that nothing has changed.
  void renew() {
    const std::uint64_t version = live_.version();
    if (version == version_) return;
    version_ = version;
    identity_ = live_.current();
  }
  // Precondition: renew() was called.
  const identity::Identity* operator->() const { return identity_.get(); }

 private:
  const LiveIdentity& live_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const identity::Identity> identity_;
};

}  // namespace weir::server
