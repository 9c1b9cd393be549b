#!/usr/bin/env bash
# Builds everything, runs every test, and ends with a line "N passed, N failed". Called by `make test`.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
results=build/test-results
passed=0
failed=0
mkdir -p "$results"
rm -f "$results"/*.xml

# suite NAME COMMAND…: a step that is one test of its own.
step() {
  local name=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; fi
}

# count FILE: adds a JUnit report's numbers; a report that is missing or holds no test is a failure.
count() {
  local numbers
  numbers=$(/usr/bin/python3 scripts/count_junit.py "$1") || numbers="0 1"
  passed=$((passed + ${numbers% *}))
  failed=$((failed + ${numbers#* }))
}

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" >"$results/configure-$preset.log" 2>&1 || { cat "$results/configure-$preset.log"; return 1; }
  cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

# ctest_in PRESET FOLDER [ARGUMENT…]
ctest_in() {
  local preset=$1 folder=$2
  shift 2
  (cd "$folder" && ctest --parallel "$jobs" --output-on-failure --output-junit "$OLDPWD/$results/ctest-$preset.xml" "$@")
  count "$results/ctest-$preset.xml"
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
}

if ! build release; then
  failed=1
  finish
fi
ctest_in release build

# The tests that race threads, again under ThreadSanitizer; those that parse and compute, under ASan and UBSan;
# each parser is fuzzed for a moment, beginning with every input that once broke one.
if build tsan memory_tests engine_tests; then
  ctest_in tsan build/tsan -R '^(MemoryStore|StoreContract|Engine|Snapshot|RulesCache|SlotLanes)|Concurren'
else
  failed=$((failed + 1))
fi
if build asan algorithms_tests identity_tests caller_tests rules_tests memory_tests engine_tests transport_tests http_tests http2_tests \
  redis_standalone_tests fuzz_targets; then
  for target in $(basename -s .cc -a tests/fuzz/*_fuzz.cc); do
    step "$target" env SECONDS_EACH=2 scripts/fuzz.sh --check "$target"
  done
  ctest_in asan build/asan -E '_NOT_BUILT$|^RealClients|^Grpc\.Python|^redis_(contract|differential|fault|sentinel|cluster|clock)_|^Tidy'
else
  failed=$((failed + 1))
fi

WEIR_BIN=$PWD/build/bin/weir /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/e2e --junitxml "$results/pytest.xml"
count "$results/pytest.xml"
finish
