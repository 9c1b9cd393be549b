#!/usr/bin/env bash
# clang-tidy over the sources of the rooms, with the checks of .clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
git ls-files 'src/*.cc' | grep -v '_test\.cc$' | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build --quiet
