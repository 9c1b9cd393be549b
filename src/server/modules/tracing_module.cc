#include "server/modules/tracing_module.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/ascii.h"
#include "base/bounded_file.h"
#include "observe/trace_observer.h"
#include "observe/traceparent.h"
#include "server/redis_settings.h"
#include "server/version.h"

namespace weir::server {
namespace {

constexpr Duration kExportTimeout = std::chrono::seconds(2);
constexpr std::size_t kMaxHeadersFile = std::size_t{16} << 10;
constexpr std::string_view kTracesPath = "/v1/traces";

std::uint64_t trace_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

class ChosenTraces final : public transport::Tracing {
 public:
  explicit ChosenTraces(std::int64_t sample) : choice_(sample, trace_seed()) {}
  const TraceContext* begin(std::string_view traceparent) override { return choice_.begin(traceparent); }

 private:
  observe::TraceChoice choice_;
};

std::string_view database_system(const Config& config) {
  return config.database.starts_with("postgres") ? "postgresql" : "sqlite";
}

// "Name: value" in each line.
Result<std::string> read_headers(const std::filesystem::path& path) {
  if (path.empty()) return std::string();
  const Result<std::string> text = base::read_bounded_file(path, kMaxHeadersFile);
  if (!text.ok()) return Failure{text.failure().code, "tracing.headers_file: " + text.failure().message};
  std::string fields;
  std::string_view rest = text.value();
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view field = base::trimmed(line.substr(0, line.find_last_not_of('\r') + 1));
    if (field.empty() || field.starts_with('#')) continue;
    const std::size_t colon = field.find(':');
    const bool has_controls =
        std::any_of(field.begin(), field.end(), [](char c) { return c != '\t' && base::is_control(c); });
    if (colon == std::string_view::npos || colon == 0 || field.substr(0, colon).find(' ') != std::string_view::npos ||
        has_controls) {
      return Failure{Code::invalid_argument, "tracing.headers_file: " + path.string() + ":" + std::to_string(number) +
                                                 ": expected a header field such as Authorization: Bearer …"};
    }
    fields.append(field).append("\r\n");
  }
  return fields;
}

}  // namespace

Status TracingModule::open() {
  const Config& config = context_.config;
  if (config.tracing_otlp.empty()) return success();
  Result<std::unique_ptr<HttpPost>> to = HttpPost::make(config.tracing_otlp, kExportTimeout);
  if (!to.ok()) return Failure{to.failure().code, "tracing.otlp: " + to.failure().message};
  if (to.value()->path() == "/") to.value()->set_path(std::string(kTracesPath));
  Result<std::string> fields = read_headers(config.tracing_headers_file);
  if (!fields.ok()) return fields.failure();
  const std::size_t loops = context_.loops->size();
  const auto each = static_cast<std::size_t>(config.tracing_queue) / loops;
  for (std::size_t i = 0; i < loops; ++i) rings_.push_back(std::make_shared<observe::SpanRing>(each));
  exporter_ = std::make_unique<SpanExporter>(
      std::move(to).value(), std::move(fields).value(),
      observe::OtlpResource{.version = std::string(kVersion), .instance = tools_.node(), .region = config.region_name},
      rings_, context_.log);
  return success();
}

Status TracingModule::start() {
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  if (exporter_ != nullptr) exporter_->start();
  return success();
}

void TracingModule::stop() {
  if (exporter_ != nullptr) exporter_->stop();
}

void TracingModule::observe(std::size_t loop, LimiterOptions& options) {
  if (exporter_ == nullptr) return;
  options.request_observers.push_back(std::make_shared<observe::TraceObserver>(
      rings_[loop], uses_redis(context_.config) ? "redis" : "memory", database_system(context_.config), trace_seed()));
}

std::shared_ptr<transport::Tracing> TracingModule::make_tracing() const {
  if (exporter_ == nullptr) return nullptr;
  return std::make_shared<ChosenTraces>(context_.config.tracing_sample);
}

void TracingModule::add_facts(observe::Facts& facts) const {
  const SpanExporter::Counts counts = exporter_ == nullptr ? SpanExporter::Counts{} : exporter_->counts();
  const auto add = [&](const char* result, std::uint64_t count) {
    facts.more.push_back({"weir_trace_spans_total",
                          "Spans of traces: sent to the collector, dropped because the queue was full, lost because "
                          "the collector did not accept them.",
                          observe::FactMetric::Kind::counter,
                          static_cast<double>(count),
                          {{"result", result}}});
  };
  add("sent", counts.sent);
  add("dropped", counts.dropped);
  add("lost", counts.lost);
}

}  // namespace weir::server
