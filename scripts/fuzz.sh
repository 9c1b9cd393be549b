#!/usr/bin/env bash
# Runs every libFuzzer target for SECONDS_EACH seconds (60). Findings stay in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-60}
cmake -G Ninja -S . -B build/fuzz -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWEIR_FUZZ=ON \
  -DWEIR_TESTS=OFF -DWEIR_BENCH=OFF -DWEIR_SANITIZE=address,undefined,fuzzer-no-link >/dev/null
targets=$(ls tests/fuzz/*_fuzz.cc | xargs -n1 basename -s .cc)
cmake --build build/fuzz --parallel "$(nproc)" --target $targets
mkdir -p build/fuzz/findings
for target in $targets; do
  corpus=build/fuzz/corpus/$target
  seeds=tests/fuzz/seeds/${target%_fuzz}
  mkdir -p "$corpus"
  echo "== $target, $seconds s"
  build/fuzz/bin/"$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -print_final_stats=0 \
    -artifact_prefix=build/fuzz/findings/"$target"- "$corpus" $([ -d "$seeds" ] && echo "$seeds") 2>&1 | tail -2
done
