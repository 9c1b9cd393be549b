#!/usr/bin/env bash
# Builds everything, runs every test, and ends with a line "N passed, N failed". Called by `make test`. A test that fails
# is run once more, alone: if it then passes, it counts as passed and is reported as "flaky: NAME". All processes started
# here end with this script, also when it is interrupted (scripts/contained.py).
set -uo pipefail
cd "$(dirname "$0")/.."
[ "${CONTAINED_BY:-}" = "$PPID" ] || exec scripts/contained.py "scripts/$(basename "$0")" "$@"
jobs=$(nproc)
results=build/test-results
passed=0
failed=0
mkdir -p "$results"
rm -f "$results"/*.xml

# step NAME COMMAND…: a command that counts as one test.
step() {
  local name=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; fi
}

# count REPORT AGAIN: adds the numbers of a JUnit report; AGAIN, if it exists, is that of the tests that were run again.
# A missing report or one without tests is a failure.
count() {
  local numbers
  numbers=$(/usr/bin/python3 scripts/count_junit.py "$@") || numbers="0 1"
  passed=$((passed + ${numbers% *}))
  failed=$((failed + ${numbers#* }))
}

# build PRESET PARTS [TARGET…]
build() {
  local preset=$1 parts=$2 log=$results/build-$1.log
  shift 2
  scripts/configure.sh "$preset" $parts >"$log" 2>&1 || { cat "$log"; return 1; }
  cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"} | tee "$log" || return 1
  step "the $preset build has no warnings" has_no_warnings "$log"
}

has_no_warnings() { ! grep 'warning:' "$1"; }

# Processes whose parent ended became children of scripts/contained.py, like this script.
nothing_is_left_running() {
  local left=""
  for _ in $(seq 50); do
    left=$(grep -ls "^PPid:[[:space:]]*$CONTAINED_BY\$" /proc/[0-9]*/status | grep -v "^/proc/$$/")
    [ -n "$left" ] || return 0
    sleep 0.1
  done
  echo "still running:" $(sed -n 's/^Name:[[:space:]]*//p' $left)
  return 1
}

# ctest_in PRESET FOLDER [ARGUMENT…]
ctest_in() {
  local preset=$1 folder=$2 report=$PWD/$results/ctest-$1.xml again=$PWD/$results/ctest-$1-again.xml
  shift 2
  if ! (cd "$folder" && ctest --parallel "$jobs" --output-on-failure --output-junit "$report" "$@"); then
    echo "running the tests that failed once more, one at a time"
    (cd "$folder" && ctest --rerun-failed --output-on-failure --output-junit "$again")
  fi
  count "$report" "$again"
}

# pytest_in FOLDER: the files of the folder on as many processes as there are cores.
pytest_in() {
  local report=$results/pytest.xml again=$results/pytest-again.xml
  local pytest=(env WEIR_BIN="$PWD/build/bin/weir" /usr/bin/python3 -m pytest -q -rs -o cache_dir="$TMPDIR/pytest" "$1")
  if ! "${pytest[@]}" -n "$jobs" --dist loadfile --junitxml "$report"; then
    echo "running the tests that failed once more, one at a time"
    "${pytest[@]}" --last-failed --last-failed-no-failures none --junitxml "$again"
  fi
  count "$report" "$again"
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
}

if ! build release "WEIR_TESTS WEIR_BENCH"; then
  failed=1
  finish
fi
ctest_in release build
# The suites of the Redis store once more, on Valkey.
if scripts/test-valkey.sh --install; then
  PATH=$PWD/build/valkey/bin:$PATH ctest_in valkey build --label-regex redis
else
  echo "not tested: the Redis store on Valkey"
fi

# The tests that use several threads, again under ThreadSanitizer; those that parse and compute, again under ASan and
# UBSan. Each parser is fuzzed for two seconds, beginning with every input that once broke one.
if build tsan WEIR_TESTS memory_tests engine_tests; then
  ctest_in tsan build/tsan -R '^(MemoryStore|StoreContract|Engine|Snapshot|RulesCache|SlotLanes)|Concurren'
else
  failed=$((failed + 1))
fi
if build asan WEIR_TESTS algorithms_tests base_tests keys_tests identity_tests rules_tests memory_tests leased_tests synced_tests engine_tests transport_tests render_tests http_tests http2_tests \
  redis_standalone_tests fuzz_targets; then
  for target in $(basename -s .cc -a tests/fuzz/*_fuzz.cc); do
    step "$target" env SECONDS_EACH=2 scripts/fuzz.sh --check "$target"
  done
  ctest_in asan build/asan -E '_NOT_BUILT$|^RealClients|^Grpc\.Python|^redis_(clock|cluster|connection|contract|differential|fault|lease|library|member|overload|sentinel|subject)_|^(database|postgres|ledger|quota_gate|control_contract)_|^Tidy'
else
  failed=$((failed + 1))
fi

pytest_in tests/e2e
step "nothing is left running" nothing_is_left_running
finish
