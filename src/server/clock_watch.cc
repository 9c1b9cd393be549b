#include "server/clock_watch.h"

namespace weir::server {

void ClockWatch::poll(const Reading& at, Duration followed) {
  if (told_at_ && at.now - *told_at_ < kLeastPause) return;
  const bool jumped = followed - told_followed_ >= kWorthALine;
  const bool is_ahead = at.ahead >= kWorthALine;
  const Duration change = at.ahead > told_ahead_ ? at.ahead - told_ahead_ : told_ahead_ - at.ahead;
  const bool changed = is_ahead ? change >= kWorthALine : told_ahead_ >= kWorthALine;
  if (!jumped && !changed) return;

  if (jumped) {
    log_.warn("clock_set_forward", "the wall clock was set forward: buckets have refilled for that time",
              {{"by_ms", ceil_ms(followed - told_followed_)}});
    told_followed_ = followed;
  }
  if (changed && is_ahead) {
    log_.warn("clock_set_back",
              "the wall clock was set back: bucket time continues at the same rate, ahead of it; a restart ends this",
              {{"ahead_ms", ceil_ms(at.ahead)}});
  } else if (changed) {
    log_.info("clock_agrees", "bucket time and the wall clock agree again");
  }
  if (changed) told_ahead_ = at.ahead;
  told_at_ = at.now;
}

}  // namespace weir::server
