#!/usr/bin/env bash
# usage: scripts/configure.sh PRESET [WEIR_TESTS] [WEIR_BENCH]
# Configures a preset's build folder with the parts named. A part that the folder already has is kept: the program's
# objects are the same with and without it, so `make run` and `make test` share one folder and compile nothing twice.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
folder=build
[ "$preset" = release ] || folder=build/$preset
parts=()
for part in WEIR_TESTS WEIR_BENCH; do
  value=OFF
  [[ " $* " != *" $part "* ]] || value=ON
  # Without build.ninja the last attempt failed, perhaps because a package of that part is missing.
  if [ -f "$folder/build.ninja" ] && grep -qs "^$part:BOOL=ON$" "$folder/CMakeCache.txt"; then value=ON; fi
  parts+=("-D$part=$value")
done
exec cmake --preset "$preset" "${parts[@]}"
