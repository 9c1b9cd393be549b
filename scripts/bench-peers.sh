#!/usr/bin/env bash
# Builds Weir and those of its peers that can be installed, and runs bench/peers_suite.py; arguments are passed on.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CONTAINED_BY:-}" = "$PPID" ] || exec scripts/contained.py "scripts/$(basename "$0")" "$@"
scripts/configure.sh release >/dev/null
cmake --build build --parallel "$(nproc)" --target weir_program
scripts/peers.sh
exec /usr/bin/python3 bench/peers_suite.py "$@"
