#include "server/live_identity.h"

#include <algorithm>
#include <string_view>

#include "server/identity_settings.h"
#include "server/secret_warnings.h"

namespace weir::server {

LiveIdentity::LiveIdentity(const Config& config, const keys::KeyRing& keys, observe::Log& log)
    : config_(config), keys_(keys), log_(log) {
  for (const std::filesystem::path& file : identity_files(config)) watches_.emplace_back(file);
}

Status LiveIdentity::load() {
  Result<identity::IdentityOptions> options = identity_options(config_, keys_);
  if (!options.ok()) return options.failure();
  options.value().directory = directory_;
  Status loaded = put(identity::Identity::create(options.value()));
  if (loaded.ok() && current()->has_requests_without_route()) {
    log_.warn("routes_incomplete",
              "requests that match none of identity.routes have no action and cost 1; add a last route such as "
              "ANY *: other, and a rule for its action");
  }
  constexpr std::string_view kSenders[] = {"http", "grpc", "resp"};
  const bool used = std::any_of(std::begin(kSenders), std::end(kSenders),
                                [&](std::string_view front_end) { return identity_applies(config_, front_end); });
  if (!place_of(config_, "identity.names").empty() && !used) {
    log_.warn("identity_names_unused",
              "identity.names has no effect: identity.apply lists none of http, grpc and resp");
  }
  return loaded;
}

Status LiveIdentity::reload() { return watches_.empty() ? success() : read_again(/*asked=*/true); }

Status LiveIdentity::read_again(bool asked) {
  // Before the files are read: if they change in between, the watch finds other contents and logs them.
  const std::uint64_t seen = hash_of_contents(identity_files(config_));
  Status done = put(current()->reloaded());
  if (done.ok()) {
    told_.forget();
    if (!asked) warn_about_identity_files(config_, log_);  // a reload that was asked for checks every secret
    log_.info("identity_loaded", "keys and revocations loaded", {{"revoked", current()->revoked_count()}});
  } else if (told_.is_news(done.failure().message, seen) || asked) {
    log_.error("identity_rejected", "invalid keys or revocations; the last good ones stay in use",
               {{"error", done.failure().message}});
  }
  return done;
}

void LiveIdentity::poll() {
  bool changed = false;
  for (rules::FileWatch& watch : watches_) changed |= watch.changed();
  // A failure is logged; the next change is the next attempt.
  if (changed) static_cast<void>(read_again(/*asked=*/false));
}

std::shared_ptr<const identity::Identity> LiveIdentity::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::string LiveIdentity::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

Status LiveIdentity::put(const Result<std::shared_ptr<const identity::Identity>>& made) {
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
