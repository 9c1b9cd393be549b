#!/usr/bin/env bash
# clang-tidy over what changed since the last run (scripts/clang_tidy.py); arguments name files or folders.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/configure.sh dev >/dev/null
cmake --build build/dev --parallel "$(nproc)" --target weir_program >/dev/null
exec /usr/bin/python3 scripts/clang_tidy.py "$@"
