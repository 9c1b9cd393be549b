#!/usr/bin/env bash
# Installs the Debian 12 packages of the named groups (build, test, bench, fuzz, tidy) that are not installed yet.
# Does nothing, and needs no rights and no network, when all are there.
set -euo pipefail

build="g++ cmake ninja-build ccache pkg-config make libboost1.81-dev libyaml-cpp-dev libsimdjson-dev libcli11-dev
  libre2-dev libssl-dev prometheus-cpp-dev libnghttp2-dev protobuf-compiler"
test="libgtest-dev libgmock-dev librapidcheck-dev python3 python3-pytest curl openssl prometheus clang-format-14
  redis-server redis-tools python3-redis haproxy nginx-light caddy python3-yaml libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc python3-grpcio
  python3-protobuf python3-h2 nghttp2-client iproute2 clang-14 libclang-rt-14-dev"
bench="wrk redis-server redis-tools nghttp2-client libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc"
fuzz="clang-14 libclang-rt-14-dev"
tidy="clang-format-14 clang-tidy-14"

[ $# -gt 0 ] || { echo "usage: $0 build|test|bench|fuzz|tidy …" >&2; exit 2; }
wanted=""
for group in "$@"; do
  case "$group" in
    build | test | bench | fuzz | tidy) wanted="$wanted ${!group}" ;;
    *) echo "$0: no group '$group'" >&2; exit 2 ;;
  esac
done

missing=""
for package in $wanted; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "missing packages:$missing (install them as root)" >&2; exit 1; }
  as_root="sudo"
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
  cat "$log" >&2
  echo "could not install:$missing" >&2
  exit 1
fi
rm -f "$log"
