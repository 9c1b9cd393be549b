#include "server/span_exporter.h"

#include <utility>

namespace weir::server {
namespace {

constexpr std::string_view kProtobuf = "application/x-protobuf";

// As OTLP says; 0 is an answer that is not HTTP.
bool may_try_again(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

SpanExporter::SpanExporter(std::unique_ptr<HttpPost> to, std::string fields, observe::OtlpResource resource,
                           std::vector<std::shared_ptr<observe::SpanRing>> rings, observe::Log& log)
    : to_(std::move(to)),
      fields_(std::move(fields)),
      resource_(std::move(resource)),
      rings_(std::move(rings)),
      log_(log) {}

void SpanExporter::start() {
  thread_ = std::thread([this] { run(); });
}

void SpanExporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

SpanExporter::Counts SpanExporter::counts() const {
  Counts counts{.sent = sent_.load(std::memory_order_relaxed), .dropped = 0, .lost = lost_.load()};
  for (const auto& ring : rings_) counts.dropped += ring->dropped();
  return counts;
}

// False: the exporter is to stop.
bool SpanExporter::wait(Duration time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stopping_; });
}

void SpanExporter::run() {
  while (wait(kPeriod)) {
    while (send_batch(false)) {
    }
  }
  send_batch(true);
}

bool SpanExporter::send_batch(bool last) {
  batch_.clear();
  for (const auto& ring : rings_) ring->pop(kMostAtOnce - batch_.size(), batch_);
  if (batch_.empty()) return false;
  const std::string body = observe::encode_otlp(batch_, resource_);
  Duration pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    const Result<int> status = to_->post(body, kProtobuf, fields_);
    if (status.ok() && status.value() >= 200 && status.value() < 300) {
      sent_.fetch_add(batch_.size(), std::memory_order_relaxed);
      return batch_.size() == kMostAtOnce;
    }
    const std::string why =
        status.ok() ? to_->where() + ": answered " + std::to_string(status.value()) : status.failure().message;
    log_.warn("trace_export_failed", "the OpenTelemetry collector did not accept the spans", {{"error", why}});
    const bool again = !status.ok() || may_try_again(status.value());
    if (last || !again || tries == kMostTries || !wait(pause)) break;
    pause *= 2;
  }
  lost_.fetch_add(batch_.size(), std::memory_order_relaxed);
  return false;
}

}  // namespace weir::server
