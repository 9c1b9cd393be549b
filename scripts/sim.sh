#!/usr/bin/env bash
# SEEDS (10000) runs of simulated nodes, clocks and networks (tests/sim). A seed that fails is printed with how to repeat
# it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/configure.sh release WEIR_TESTS >/dev/null && cmake --build build --parallel "$(nproc)" --target sim_tests
WEIR_SIM_SEEDS=${SEEDS:-10000} build/bin/sim_tests --gtest_brief=1
