#!/usr/bin/env bash
# Runs Weir and envoyproxy/ratelimit on the same random files and requests; arguments are passed on.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
cmake --build build --parallel "$(nproc)" --target weir_program
scripts/peers.sh
[ -e build/peers/bin/service_cmd ] || { echo "nothing to compare with"; exit 0; }
exec /usr/bin/python3 tests/peers/ratelimit_differential.py "$@"
