#!/usr/bin/env bash
# The suites that race threads and fill memory, over and over, for SOAK_MINUTES (30), under ThreadSanitizer in turn.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${SOAK_MINUTES:-30}
cmake --preset release >/dev/null && cmake --build build --parallel "$(nproc)" --target memory_tests engine_tests memory_contract_tests
cmake --preset tsan >/dev/null && cmake --build build/tsan --parallel "$(nproc)" --target memory_tests engine_tests
end=$((SECONDS + minutes * 60))
rounds=0
while [ "$SECONDS" -lt "$end" ]; do
  for program in build/bin/memory_tests build/bin/memory_contract_tests build/bin/engine_tests build/tsan/bin/memory_tests build/tsan/bin/engine_tests; do
    "$program" --gtest_shuffle --gtest_brief=1
  done
  rounds=$((rounds + 1))
  echo "round $rounds done"
done
echo "$rounds passed, 0 failed"
