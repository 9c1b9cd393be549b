#!/usr/bin/env bash
# SEEDS (10000) runs of simulated nodes, regions, clocks and networks for each mode: leased, synced, slices of buckets
# and of windows, reconcile and central (tests/sim), and of the pure parts of regions (src/regions). A seed that fails is
# printed with how to repeat it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/configure.sh release WEIR_TESTS >/dev/null
cmake --build build --parallel "$(nproc)" --target sim_tests regions_tests
export WEIR_SIM_SEEDS=${SEEDS:-10000}
build/bin/sim_tests --gtest_brief=1
build/bin/regions_tests --gtest_brief=1 --gtest_filter='RegionShares.*:RegionCells.*'
