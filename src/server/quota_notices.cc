#include "server/quota_notices.h"

#include <algorithm>
#include <vector>

#include "base/bounded_file.h"
#include "base/json_text.h"

namespace weir::server {
namespace {

using database::Access;
using database::Outcome;
using database::Session;

constexpr Duration kWebhookTimeout = std::chrono::seconds(5);
constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::minutes(5);
// A node that is silent for so long after it began to tell of a threshold has ended, and another tells.
constexpr Duration kClaimedFor = kLongestPause + std::chrono::seconds(30);
constexpr std::size_t kMaxSecret = 4096;
constexpr std::size_t kMostRemembered = 10'000;

std::string json_quoted(std::string_view text) {
  std::string out;
  base::append_json_string(out, text);
  return out;
}

}  // namespace

Status QuotaNotices::open() {
  const Config& config = context_.config;
  if (config.quota_webhook.empty()) return success();
  std::string secret;
  if (!config.quota_webhook_secret_file.empty()) {
    const Result<std::string> read = base::read_bounded_file(config.quota_webhook_secret_file, kMaxSecret);
    if (!read.ok()) return Failure{Code::invalid_argument, "quota.webhook_secret_file: " + read.failure().message};
    secret = read.value();
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
    if (secret.empty()) return Failure{Code::invalid_argument, "quota.webhook_secret_file: the file is empty"};
  }
  Result<std::unique_ptr<Webhook>> made = Webhook::make(config.quota_webhook, std::move(secret), kWebhookTimeout);
  if (!made.ok()) return Failure{Code::invalid_argument, "quota.webhook: " + made.failure().message};
  webhook_ = std::move(made).value();
  return success();
}

std::string QuotaNotices::body_of(const ledger::PendingNotice& pending) {
  const ledger::Account& account = pending.account;
  std::string id = account.key.rule + "/" + account.key.subject + "/" + account.key.period + "/" +
                   std::to_string(pending.notice.threshold);
  return "{\"id\":" + json_quoted(id) + ",\"type\":\"quota.threshold\",\"rule\":" + json_quoted(account.key.rule) +
         ",\"subject\":" + json_quoted(account.key.subject) + ",\"tenant\":" + json_quoted(account.tenant) +
         ",\"period\":" + json_quoted(account.key.period) +
         ",\"threshold\":" + std::to_string(pending.notice.threshold) +
         ",\"used\":" + std::to_string(pending.notice.used) + ",\"limit\":" + std::to_string(account.limit) +
         ",\"reached_at_ms\":" + std::to_string(micros(pending.notice.reached) / 1000) +
         ",\"resets_at_ms\":" + std::to_string(micros(account.ends) / 1000) + "}";
}

// A webhook that fails is tried again with growing pauses; the log line is written once.
bool QuotaNotices::tell(const ledger::PendingNotice& pending) {
  const auto key = std::pair(pending.notice.account, pending.notice.threshold);
  if (logged_.size() > kMostRemembered) logged_.clear();
  if (logged_[key]++ == 0) {
    context_.log.warn("quota_threshold", "an account has reached a threshold of its quota",
                      {{"rule", pending.account.key.rule},
                       {"subject", pending.account.key.subject},
                       {"period", pending.account.key.period},
                       {"threshold", std::to_string(pending.notice.threshold)},
                       {"used", std::to_string(pending.notice.used)},
                       {"limit", std::to_string(pending.account.limit)}});
  }
  if (webhook_ == nullptr) return true;
  const Status posted = webhook_->post(body_of(pending), context_.clock->wall());
  if (posted.ok()) return true;
  failed_.fetch_add(1, std::memory_order_relaxed);
  context_.log.warn("quota_webhook_failed", posted.failure().message);
  return false;
}

void QuotaNotices::deliver() {
  const TimePoint now = context_.clock->now();
  if (now < next_try_) return;
  std::vector<ledger::PendingNotice> pending;
  const Outcome read = database_.run(Access::read, [&](Session& session) -> Status {
    Result<std::vector<ledger::PendingNotice>> found = ledger::pending_notices(session, node_, context_.clock->wall());
    if (!found.ok()) return found.failure();
    pending = std::move(found).value();
    return success();
  });
  if (!read.ok()) return;
  for (const ledger::PendingNotice& each : pending) {
    bool mine = false;
    const Outcome claimed = database_.run(Access::write, [&](Session& session) -> Status {
      const TimePoint wall = context_.clock->wall();
      const Result<bool> claim = ledger::claim_notice(session, each.notice, node_, wall, wall + kClaimedFor);
      if (!claim.ok()) return claim.failure();
      mine = claim.value();
      return success();
    });
    if (!claimed.ok()) return;
    if (!mine) continue;
    if (!tell(each)) {
      pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
      next_try_ = now + pause_;
      return;
    }
    pause_ = Duration(0);
    bool marked = false;
    const Outcome done = database_.run(Access::write, [&](Session& session) -> Status {
      const Result<bool> mark = ledger::mark_delivered(session, each.notice, context_.clock->wall());
      if (!mark.ok()) return mark.failure();
      marked = mark.value();
      return success();
    });
    if (!done.ok()) return;
    logged_.erase({each.notice.account, each.notice.threshold});
    if (marked) delivered_.fetch_add(1, std::memory_order_relaxed);
  }
}

void QuotaNotices::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  facts.more.push_back({"weir_quota_notices_total",
                        "Quota thresholds for which a notice was sent.",
                        Kind::counter,
                        static_cast<double>(delivered_.load()),
                        {}});
  facts.more.push_back({"weir_quota_webhook_failures_total",
                        "Calls of the quota webhook that failed.",
                        Kind::counter,
                        static_cast<double>(failed_.load()),
                        {}});
}

}  // namespace weir::server
