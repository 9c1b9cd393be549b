#include "rules/read/rules_source.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

#include "base/bounded_file.h"

namespace weir::rules {
namespace {

constexpr std::chrono::milliseconds kPauseBetweenReads{50};

bool is_rules_file_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml"));
}

Result<SourceTexts> read_once(const std::filesystem::path& path) {
  const auto files = list_rules_files(path);
  if (!files.ok()) return files.failure();
  SourceTexts texts;
  std::size_t left = kMaxRulesFolderBytes;
  for (const std::filesystem::path& file : files.value()) {
    Result<std::string> text = base::read_bounded_file(file, std::min(left, kMaxRulesFileBytes));
    if (!text.ok()) return text.failure();
    left -= text.value().size();
    texts.push_back({file.string(), std::move(text).value()});
  }
  return texts;
}

Result<SourceTexts> read_standard_input() {
  SourceText read{"standard input", {}};
  char chunk[1 << 16];
  for (std::size_t count = 0; (count = std::fread(chunk, 1, sizeof chunk, stdin)) > 0;) {
    read.text.append(chunk, count);
    if (read.text.size() > kMaxRulesFileBytes) {
      return Failure{Code::resource_exhausted,
                     "standard input: is longer than " + std::to_string(kMaxRulesFileBytes) + " bytes"};
    }
  }
  if (std::ferror(stdin) != 0) return Failure{Code::unavailable, "standard input: cannot be read"};
  return SourceTexts{std::move(read)};
}

}  // namespace

Result<std::vector<std::filesystem::path>> list_rules_files(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};

  std::vector<std::filesystem::path> files;
  auto entries = std::filesystem::directory_iterator(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    // A broken link is listed, so that reading it reports it.
    std::error_code ignored;
    if (is_rules_file_name(entries->path()) && !entries->is_directory(ignored)) files.push_back(entries->path());
    if (files.size() > kMaxRulesFiles) {
      return Failure{Code::resource_exhausted,
                     path.string() + ": more than " + std::to_string(kMaxRulesFiles) + " rules files"};
    }
  }
  if (error) return Failure{Code::unavailable, path.string() + ": " + error.message()};
  if (files.empty()) return Failure{Code::not_found, path.string() + ": no *.yaml or *.yml in this folder"};
  std::sort(files.begin(), files.end());
  return files;
}

Result<SourceTexts> read_at_rest(const std::function<Result<FileStates>()>& look,
                                 const std::function<Result<SourceTexts>()>& read, const std::function<void()>& pause) {
  for (int reads = 1;; ++reads) {
    const Result<FileStates> before = look();
    Result<SourceTexts> texts = read();
    const Result<FileStates> after = look();
    const bool at_rest = !before.ok() || !after.ok() || before.value() == after.value();
    if (at_rest || reads == kMaxReads) return texts;
    pause();
  }
}

Result<SourceTexts> read_source(const std::filesystem::path& path) {
  if (path == kStandardInput) return read_standard_input();
  return read_at_rest([&] { return look_at(path); }, [&] { return read_once(path); },
                      [] { std::this_thread::sleep_for(kPauseBetweenReads); });
}

std::uint64_t fingerprint(const SourceTexts& texts) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
  const std::hash<std::string> hash;
  std::uint64_t sum = texts.size();
  for (const SourceText& each : texts) {
    sum = (sum ^ hash(each.name)) * kSpread;
    sum = (sum ^ hash(each.text)) * kSpread;
  }
  return std::max<std::uint64_t>(sum, 1);
}

}  // namespace weir::rules
