#include "cli/bench_report.h"

#include <iomanip>
#include <ostream>
#include <sstream>

#include "base/json_text.h"

namespace weir::cli {
namespace {

double seconds_of(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

double rate_of(std::uint64_t count, Duration took) {
  return took.count() <= 0 ? 0 : static_cast<double>(count) / seconds_of(took);
}

// "1,234,567"
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string grouped(double number) { return grouped(static_cast<std::uint64_t>(number + 0.5)); }

// "850 us", "1.25 ms", "2.50 s"
std::string latency_text(std::int64_t micros) {
  std::ostringstream out;
  out << std::fixed;
  if (micros < 1'000) {
    out << micros << " us";
  } else if (micros < 1'000'000) {
    out << std::setprecision(2) << static_cast<double>(micros) / 1e3 << " ms";
  } else {
    out << std::setprecision(2) << static_cast<double>(micros) / 1e6 << " s";
  }
  return out.str();
}

void write_json(const LoadPlan& plan, const LoadResult& result, std::ostream& out) {
  const auto at = [&](std::uint64_t per_mille) { return result.latencies.percentile(per_mille); };
  out << std::fixed << std::setprecision(0) << "{\"requests\":" << result.sent()
      << ",\"per_second\":" << rate_of(result.answered(), result.took);
  if (plan.rate > 0) {
    out << ",\"target_per_second\":" << std::setprecision(3) << plan.rate << std::setprecision(0)
        << ",\"unsent\":" << result.unsent;
  }
  out << ",\"allowed\":" << result.allowed << ",\"denied\":" << result.denied << ",\"failed\":" << result.failed;
  if (result.failed > 0) {
    std::string text;
    base::append_json_string(text, result.first_failure.message);
    out << ",\"first_failure\":" << text;
  }
  out << ",\"latency_us\":{\"p50\":" << at(500) << ",\"p90\":" << at(900) << ",\"p99\":" << at(990)
      << ",\"p999\":" << at(999) << ",\"max\":" << result.latencies.largest() << "}}\n";
}

}  // namespace

ProgressLine::~ProgressLine() {
  if (shown_) terminal_.err << "\r\x1b[K" << std::flush;
}

void ProgressLine::show(Duration elapsed, std::uint64_t done) {
  if (!terminal_.live) return;
  shown_ = true;
  std::ostringstream line;
  line << std::fixed << std::setprecision(1) << seconds_of(elapsed) << " of " << seconds_of(total_) << " s, "
       << grouped(done) << " checks, " << grouped(rate_of(done, elapsed)) << "/s";
  terminal_.err << "\r\x1b[K" << line.str() << std::flush;
}

void report_load(const LoadPlan& plan, const LoadResult& result, bool json, const Terminal& terminal) {
  if (json) return write_json(plan, result, terminal.out);
  const auto at = [&](std::uint64_t per_mille) { return latency_text(result.latencies.percentile(per_mille)); };
  const auto label = [&](std::string_view text) { return terminal.paint(Colour::bold, padded(std::string(text), 9)); };
  std::ostream& out = terminal.out;
  out << label("rate") << grouped(rate_of(result.answered(), result.took)) << " checks/s";
  if (plan.rate > 0) out << " of " << grouped(plan.rate) << " wanted";
  out << ", " << plan.connections << (plan.connections == 1 ? " connection" : " connections") << '\n'
      << label("latency") << "p50 " << at(500) << ", p90 " << at(900) << ", p99 " << at(990) << ", p99.9 " << at(999)
      << ", max " << latency_text(result.latencies.largest())
      << (plan.rate > 0 ? "; from the time each request was due\n" : "\n") << label("answers")
      << grouped(result.allowed) << " allowed, " << grouped(result.denied) << " denied, " << grouped(result.failed)
      << " failed\n";
  if (result.unsent > 0) {
    out << label("unsent") << grouped(result.unsent)
        << " requests were due while no connection was free: the server is too slow, or --connections is too small\n";
  }
}

void report_local(const LocalResult& result, bool json, const Terminal& terminal) {
  const double nanos = static_cast<double>(result.took.count()) * 1e3 / static_cast<double>(result.total);
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << nanos;
  const std::uint64_t denied = result.total - result.allowed;
  if (json) {
    terminal.out << "{\"checks\":" << result.total << ",\"ns_per_check\":" << text.str()
                 << ",\"allowed\":" << result.allowed << ",\"denied\":" << denied << "}\n";
    return;
  }
  terminal.out << terminal.paint(Colour::bold, "in process") << "  " << text.str() << " ns per check on one thread\n"
               << terminal.paint(Colour::bold, "answers") << "     " << grouped(result.allowed) << " allowed, "
               << grouped(denied) << " denied\n";
}

}  // namespace weir::cli
