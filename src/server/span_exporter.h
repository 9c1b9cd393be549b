// SpanExporter: sends the spans that wait in the rings of all loops to an OpenTelemetry collector, from a thread of its
// own: OTLP over HTTP, in protobuf.
//
// A collector that does not answer, or answers that it is overloaded (429, 502, 503, 504), is asked again with growing
// pauses; meanwhile the rings fill and drop. Spans that it refuses, or does not take in kMostTries, are lost. All of
// that is counted.
//
// Borrows the log.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "observe/log.h"
#include "observe/otlp.h"
#include "observe/span.h"
#include "server/http_post.h"

namespace weir::server {

class SpanExporter {
 public:
  static constexpr std::size_t kMostAtOnce = 512;  // spans in one request
  static constexpr int kMostTries = 4;
  static constexpr Duration kPeriod = std::chrono::milliseconds(500);
  static constexpr Duration kFirstPause = std::chrono::seconds(1);

  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  // found no room
    std::uint64_t lost = 0;     // were not accepted
  };

  // `fields` are header fields, each "Name: value\r\n".
  SpanExporter(std::unique_ptr<HttpPost> to, std::string fields, observe::OtlpResource resource,
               std::vector<std::shared_ptr<observe::SpanRing>> rings, observe::Log& log);
  ~SpanExporter() { stop(); }

  void start();
  // Tries once to send what waits. Idempotent.
  void stop();
  // From any thread.
  Counts counts() const;

 private:
  void run();
  // True: there was a full batch, so there may be more.
  bool send_batch(bool last);
  bool wait(Duration time);

  const std::unique_ptr<HttpPost> to_;
  const std::string fields_;
  const observe::OtlpResource resource_;
  const std::vector<std::shared_ptr<observe::SpanRing>> rings_;
  observe::Log& log_;
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> lost_{0};

  std::vector<observe::Span> batch_;  // of the thread
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace weir::server
