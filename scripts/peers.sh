#!/usr/bin/env bash
# Installs the peers that Weir is compared with below build/peers, each by its ordinary client and in a fixed version.
# What cannot be installed (no go, no cargo, no network) is left out with a line that says so; that is not a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
peers="$PWD/build/peers"
jobs="${JOBS:-$(nproc)}"
mkdir -p "$peers/bin" "$peers/lib"

# obtain NAME FILE CLIENT COMMAND…: unless FILE is there.
obtain() {
  local name="$1" file="$peers/$2" client="$3" log="$peers/$1.log"
  shift 3
  [ ! -e "$file" ] || return 0
  if ! command -v "$client" >/dev/null; then
    echo "left out: $name (no $client)"
  elif echo "installing $name" && "$@" >"$log" 2>&1 && [ -e "$file" ]; then
    rm -f "$log"
  else
    echo "left out: $name ($client could not install it: ${log#"$PWD/"})"
  fi
}

# A module for redis-server is not a program, so cargo does not install it: its source is fetched and built.
redis_cell() {
  local folder="$peers/redis-cell"
  mkdir -p "$folder/src" && : >"$folder/src/lib.rs"
  printf '[package]\nname = "peers"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nredis-cell = "=%s"\n' "$1" \
    >"$folder/Cargo.toml"
  (cd "$folder" && cargo vendor vendor) &&
    CARGO_TARGET_DIR="$folder/target" nice cargo build --release --jobs "$jobs" \
      --manifest-path "$folder/vendor/redis-cell/Cargo.toml" &&
    cp "$folder/target/release/libredis_cell.so" "$peers/lib/"
}

obtain envoyproxy-ratelimit bin/service_cmd go \
  env GOBIN="$peers/bin" nice go install -p "$jobs" \
  github.com/envoyproxy/ratelimit/src/service_cmd@v1.4.1-0.20260122083618-3fb702589d36
obtain throttlecrab bin/throttlecrab-server cargo \
  env CARGO_TARGET_DIR="$peers/target" nice cargo install --locked --jobs "$jobs" --root "$peers" \
  throttlecrab-server --version 0.4.40
obtain redis-cell lib/libredis_cell.so cargo redis_cell 0.2.2
