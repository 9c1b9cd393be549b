#!/usr/bin/env bash
# Builds the programs that are measured and runs bench/run.py; arguments are passed on.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CONTAINED_BY:-}" = "$PPID" ] || exec scripts/contained.py "scripts/$(basename "$0")" "$@"
scripts/configure.sh release WEIR_BENCH >/dev/null
cmake --build build --parallel "$(nproc)" \
  --target weir_program engine_bench http_floor beast_floor grpc_floor grpcpp_floor resp_floor redis_script redis_load simulate_bench key_bench ledger_bench
exec /usr/bin/python3 bench/run.py "$@"
