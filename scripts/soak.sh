#!/usr/bin/env bash
# For SOAK_MINUTES (30): half of it a real server under load (tests/soak/soak.py says what must hold), half of it the
# suites that race threads and fill memory, over and over, in turn under ThreadSanitizer. In between QUOTA_RUNS (200) runs of
# tests/e2e/quota_faults.py, whose time is not part of this.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CONTAINED_BY:-}" = "$PPID" ] || exec scripts/contained.py "scripts/$(basename "$0")" "$@"
minutes=${SOAK_MINUTES:-30}
scripts/configure.sh release WEIR_TESTS >/dev/null && cmake --build build --parallel "$(nproc)" --target weir_program memory_tests engine_tests memory_contract_tests
scripts/configure.sh tsan WEIR_TESTS >/dev/null && cmake --build build/tsan --parallel "$(nproc)" --target memory_tests engine_tests
/usr/bin/python3 tests/soak/soak.py build/bin/weir "$(/usr/bin/python3 -c "print($minutes / 2)")"
WEIR_BIN=build/bin/weir PYTHONPATH=tests/e2e /usr/bin/python3 tests/e2e/quota_faults.py build/bin/weir "${QUOTA_RUNS:-200}"
end=$((SECONDS + minutes * 30))
rounds=0
while [ "$rounds" -eq 0 ] || [ "$SECONDS" -lt "$end" ]; do
  for program in build/bin/memory_tests build/bin/memory_contract_tests build/bin/engine_tests build/tsan/bin/memory_tests build/tsan/bin/engine_tests; do
    "$program" --gtest_shuffle --gtest_brief=1
  done
  rounds=$((rounds + 1))
  echo "suites, round $rounds: passed"
done
echo "$rounds passed, 0 failed"
