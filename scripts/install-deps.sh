#!/usr/bin/env bash
# usage: scripts/install-deps.sh GROUP…           installs the Debian 12 packages of the groups that are missing
#        scripts/install-deps.sh --list GROUP…    prints their names instead
# Does nothing, and needs no rights and no network, when all are installed. Servers among the packages are not started.
set -euo pipefail

build="g++ cmake ninja-build ccache pkg-config make libboost1.81-dev libyaml-cpp-dev libsimdjson-dev libcli11-dev
  libre2-dev libssl-dev prometheus-cpp-dev libnghttp2-dev protobuf-compiler
  libsqlite3-dev libpq-dev zlib1g-dev libzstd-dev nodejs npm"
test="libgtest-dev libgmock-dev librapidcheck-dev python3 python3-pytest python3-pytest-xdist curl openssl prometheus clang-format-14
  redis-server redis-tools python3-redis haproxy nginx-light caddy python3-yaml libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc python3-grpcio
  python3-protobuf python3-h2 nghttp2-client iproute2 postgresql-15 clang-14 libclang-rt-14-dev chromium"
bare="mmdebstrap curl"
bench="wrk postgresql-15 redis-server redis-tools nghttp2-client libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc python3"
fuzz="clang-14 libclang-rt-14-dev"
tidy="clang-format-14 clang-tidy-14 python3"

list=no
if [ "${1:-}" = --list ]; then
  list=yes
  shift
fi
[ $# -gt 0 ] || { echo "usage: $0 [--list] build|test|bare|bench|fuzz|tidy …" >&2; exit 2; }
wanted=""
for group in "$@"; do
  case "$group" in
    build | test | bare | bench | fuzz | tidy) wanted="$wanted ${!group}" ;;
    *) echo "$0: no group '$group'" >&2; exit 2 ;;
  esac
done
if [ $list = yes ]; then
  printf '%s\n' $wanted | sort -u
  exit
fi

# A newer Node than Debian's, which brings npm along, will do.
has_other() {
  case "$1" in
    nodejs) command -v node ;;
    npm) command -v npm ;;
    chromium) command -v chromium ;;
    *) false ;;
  esac >/dev/null
}

missing=""
for package in $wanted; do
  ! has_other "$package" || continue
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root="env DEBIAN_FRONTEND=noninteractive"
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "missing packages:$missing (install them as root)" >&2; exit 1; }
  as_root="sudo $as_root"
fi

log=$(mktemp)
policy=/usr/sbin/policy-rc.d
wrote_policy=no
finish() {
  [ $wrote_policy = no ] || $as_root rm -f "$policy"
  rm -f "$log"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# progress: reads what apt-get says, keeps it in the log, and prints a line for every fifth of the way.
progress() {
  local line kind percent doing last=""
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    case "$line" in
      dlstatus:*) kind=downloading ;;
      pmstatus:*) kind=installing ;;
      *) continue ;;
    esac
    percent=${line#*:*:}
    percent=${percent%%[.:]*}
    doing="$kind $((percent / 20 * 20)) %"
    [ "$doing" = "$last" ] || echo "  $doing"
    last=$doing
  done
}

install() {
  $as_root apt-get update -qq &&
    $as_root apt-get install -y -q --no-install-recommends -o APT::Status-Fd=1 $missing
}

echo "installing:$missing"
if [ ! -e "$policy" ]; then
  wrote_policy=yes
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
fi
if ! install 2>&1 </dev/null | progress; then
  grep -v -E '^(dl|pm)status:' "$log" | tail -40 >&2 || true
  echo "could not install:$missing" >&2
  exit 1
fi
