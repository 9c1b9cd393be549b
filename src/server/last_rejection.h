// LastRejection: the last error logged for a watched file, so that the same error is not logged twice.
//
// A reload that was asked for (SIGHUP) is always logged. The file watch, which sees the same edit a moment later or
// reads the same text again, logs only what is new: another error, or other contents.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace weir::server {

class LastRejection {
 public:
  // True if this differs from the last error logged. It counts as logged from now on.
  bool is_news(const std::string& error, std::uint64_t contents);
  // A valid file was loaded: the next error is new.
  void forget();

 private:
  struct Refusal {
    std::string error;
    std::uint64_t contents = 0;
    friend bool operator==(const Refusal&, const Refusal&) = default;
  };

  std::mutex mutex_;
  std::optional<Refusal> last_;  // guarded by mutex_
};

// The same number for the same contents. A file that cannot be read has the fault in place of its contents.
std::uint64_t hash_of_contents(std::span<const std::filesystem::path> files);

}  // namespace weir::server
