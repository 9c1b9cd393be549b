#!/usr/bin/env bash
# usage: scripts/test-valkey.sh [CTEST-ARGUMENT…]      the tests of the Redis store, on Valkey 8 in place of Redis
#        scripts/test-valkey.sh --install              only fetches it, into build/valkey
# Valkey comes from bookworm-backports and is unpacked into the build folder: nothing is installed on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/valkey

fetch() {
  [ ! -x "$folder/bin/redis-server" ] || return 0
  local scratch
  scratch=$(mktemp -d)
  chmod 755 "$scratch"
  mkdir -p "$scratch/lists/partial" "$scratch/debs" "$scratch/root"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-backports main" >"$scratch/sources.list"
  local apt=(apt-get -qq -o Dir::Etc::sourcelist="$scratch/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$scratch/lists" -o APT::Sandbox::User=root)
  if ! "${apt[@]}" update || ! (cd "$scratch/debs" && "${apt[@]}" download valkey-server valkey-tools); then
    rm -rf "$scratch"
    echo "Valkey cannot be fetched from bookworm-backports (see above)" >&2
    return 1
  fi
  for deb in "$scratch"/debs/*.deb; do dpkg-deb -x "$deb" "$scratch/root"; done
  rm -rf "$folder"
  mkdir -p "$folder/bin"
  cp -a "$scratch/root/usr/bin/." "$folder/bin/"
  rm -rf "$scratch"
  # The tests run what is called redis-server.
  ln -sf valkey-server "$folder/bin/redis-server"
  ln -sf valkey-cli "$folder/bin/redis-cli"
  "$folder/bin/redis-server" --version
}

fetch
[ "${1:-}" != --install ] || exit 0
[ -x build/bin/redis_contract_tests ] || { echo "the tests are not built: make test builds them" >&2; exit 2; }
[ $# -gt 0 ] || set -- --label-regex redis
cd build
PATH=$folder/bin:$PATH exec ctest --output-on-failure "$@"
