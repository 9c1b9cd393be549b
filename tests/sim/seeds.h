// The seeds that a simulation runs: WEIR_SIM_SEED=N is one of them, WEIR_SIM_SEEDS=N so many.
#pragma once

#include <errno.h>  // program_invocation_short_name
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace weir::sim {

inline std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Of a seed that admitted too much, in the test that runs.
inline std::string how_to_repeat(std::uint64_t seed, const std::string& story = {}) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return "seed " + std::to_string(seed) + ": " + story + "\nrepeat with: WEIR_SIM_SEED=" + std::to_string(seed) + " " +
         program_invocation_short_name + " --gtest_filter=" + test->test_suite_name() + "." + test->name();
}

// Calls `use` with each seed, until an assertion fails.
template <typename Use>
void for_each_seed(std::uint64_t otherwise, Use use) {
  const std::uint64_t one = number_in("WEIR_SIM_SEED", 0);
  const std::uint64_t count = one != 0 ? 1 : number_in("WEIR_SIM_SEEDS", otherwise);
  for (std::uint64_t i = 0; i < count; ++i) {
    use(one != 0 ? one : i + 1);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace weir::sim
