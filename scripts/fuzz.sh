#!/usr/bin/env bash
# Builds the libFuzzer targets with ASan and UBSan and runs each, or those named, for SECONDS_EACH seconds (60): first
# the inputs of tests/fuzz/corpus, then what grows from them. What grew stays in build/fuzz/corpus for the next run,
# an input that breaks something in build/fuzz/findings, and the run fails. With --check, as `make test` calls it, the
# targets are built already and nothing that grows is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-60}
check=no
if [ "${1:-}" = --check ]; then
  check=yes
  shift
else
  scripts/configure.sh asan >/dev/null
  cmake --build --preset asan --parallel "$(nproc)" --target fuzz_targets
fi
findings=build/fuzz/findings
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
log=$scratch/log
mkdir -p "$findings"
broken=""
[ $# -gt 0 ] || set -- $(basename -s .cc -a tests/fuzz/*_fuzz.cc)
for target in "$@"; do
  seeds=tests/fuzz/corpus/$target
  dictionary=tests/fuzz/$target.dict
  [ -d "$seeds" ] || { echo "$seeds: missing; each target begins with some inputs"; exit 1; }
  # The first folder named takes what grows, so that it is never the repository's.
  grown=$([ $check = yes ] && echo "$scratch/$target" || echo "build/fuzz/corpus/$target")
  mkdir -p "$grown"
  words=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$findings/$target-" -print_final_stats=1)
  [ ! -f "$dictionary" ] || words+=(-dict="$dictionary")
  if build/asan/bin/"$target" "${words[@]}" "$grown" "$seeds" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    echo "$target: $runs runs, $cover edges, nothing found"
  else
    broken="$broken $target"
    grep -v -E '^#[0-9]+\s+(NEW|REDUCE|RELOAD|pulse)' "$log" | tail -60
    echo "$target: FOUND something; the input is the file named above, run it with build/asan/bin/$target FILE"
  fi
done
[ -z "$broken" ] || { echo "broken:$broken"; exit 1; }
