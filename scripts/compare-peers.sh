#!/usr/bin/env bash
# Runs the published cases of other rate limiters, then Weir and envoyproxy/ratelimit on the same random files and
# requests; arguments are passed on to the latter.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CONTAINED_BY:-}" = "$PPID" ] || exec scripts/contained.py "scripts/$(basename "$0")" "$@"
scripts/configure.sh release >/dev/null
cmake --build build --parallel "$(nproc)" --target weir_program published_cases_tests
build/bin/published_cases_tests --gtest_brief=1
scripts/peers.sh
[ -e build/peers/bin/service_cmd ] || { echo "nothing to compare with"; exit 0; }
exec /usr/bin/python3 tests/peers/ratelimit_differential.py "$@"
