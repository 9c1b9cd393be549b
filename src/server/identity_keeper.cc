#include "server/identity_keeper.h"

#include "server/identity_settings.h"

namespace weir::server {

IdentityKeeper::IdentityKeeper(const Config& config, const identity::KeyRing& keys, observe::Log& log)
    : config_(config), keys_(keys), log_(log) {
  for (const std::filesystem::path& file : identity_files(config)) watches_.emplace_back(file);
}

Status IdentityKeeper::load() {
  const Result<identity::IdentityOptions> options = identity_options(config_, keys_);
  if (!options.ok()) return options.failure();
  return put(identity::Identity::create(options.value()));
}

Status IdentityKeeper::reload() {
  if (watches_.empty()) return success();
  const Status done = put(current()->reloaded());
  if (done.ok()) {
    log_.info("identity_loaded", "keys and revocations are read anew", {{"revoked", current()->revoked_count()}});
  } else {
    log_.error("identity_rejected", "keys or revocations do not hold up: the last good ones stay",
               {{"error", done.failure().message}});
  }
  return done;
}

void IdentityKeeper::poll() {
  bool changed = false;
  for (rules::FileWatch& watch : watches_) changed |= watch.changed();
  // A failure is logged; the next change is the next attempt.
  if (changed) static_cast<void>(reload());
}

std::shared_ptr<const identity::Identity> IdentityKeeper::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::string IdentityKeeper::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

Status IdentityKeeper::put(const Result<std::shared_ptr<const identity::Identity>>& made) {
  const std::lock_guard lock(mutex_);
  if (!made.ok()) {
    const Failure failure = identity_failure(config_, made.failure());
    last_error_ = failure.message;
    return failure;
  }
  current_ = made.value();
  last_error_.clear();
  version_.fetch_add(1, std::memory_order_release);
  return success();
}

}  // namespace weir::server
