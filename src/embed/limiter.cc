// Creates a Limiter: fills in what the options leave open.
#include "weir/limiter.h"

#include <utility>

#include "engine/engine.h"
#include "keys/key_encoder.h"
#include "rules/rule_book.h"
#include "stores/memory/memory_store.h"

namespace weir {
namespace {

constexpr std::size_t kFallbackBytes = std::size_t{16} << 20;

// Rules that nothing would count are refused, now and when they are loaded later.
std::shared_ptr<rules::RuleBook> make_book(const LimiterOptions& options) {
  auto book = std::make_shared<rules::RuleBook>();
  book->accept_only([](const Rules& rules) -> Status {
    for (const Rule& rule : rules.rules) {
      if (rule.region == RegionSharing::none || rule.mode == Mode::off) continue;
      return Failure{Code::failed_precondition,
                     "rule " + rule.id + ": region needs the server, which knows the other regions"};
    }
    return success();
  });
  if (options.quotas != nullptr) return book;
  book->accept_only([](const Rules& rules) -> Status {
    for (const Rule& rule : rules.rules) {
      if (rule.kind != ChargeKind::quota || rule.mode == Mode::off) continue;
      return Failure{
          Code::failed_precondition,
          "rule " + rule.id + ": algorithm: quota needs a ledger (LimiterOptions::quotas), as the server has"};
    }
    return success();
  });
  return book;
}

std::unique_ptr<Limiter> make_limiter(std::shared_ptr<rules::RuleBook> book, LimiterOptions options) {
  if (options.hash_key == HashKey{}) options.hash_key = keys::random_hash_key();
  if (options.clock == nullptr) options.clock = std::make_shared<ProcessClock>();
  if (options.store == nullptr) options.store = std::make_shared<memory::MemoryStore>(options.memory);
  auto fallback = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = kFallbackBytes});
  return std::make_unique<engine::Engine>(std::move(book), std::move(options), std::move(fallback));
}

}  // namespace

Result<std::unique_ptr<Limiter>> Limiter::open(const std::filesystem::path& rules, LimiterOptions options) {
  auto book = make_book(options);
  if (Status loaded = book->load(rules); !loaded.ok()) return loaded.failure();
  return make_limiter(std::move(book), std::move(options));
}

Result<std::unique_ptr<Limiter>> Limiter::create(const Rules& rules, LimiterOptions options) {
  auto book = make_book(options);
  if (Status loaded = book->replace(rules); !loaded.ok()) return loaded.failure();
  return make_limiter(std::move(book), std::move(options));
}

}  // namespace weir
