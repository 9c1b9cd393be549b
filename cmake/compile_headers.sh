#!/bin/bash
# usage: compile_headers.sh COMMAND…    (the launcher of the targets in precompiled.cmake, before ccache)
# Runs a command of GCC. If it makes a precompiled header, writes beside it a checksum of the text that it is made from.
# ccache uses this checksum in place of the file (CCACHE_PCH_EXTSUM): GCC writes other bytes each time, so two clones that
# compiled the same headers would share nothing that was compiled with them.
set -euo pipefail
preprocess=()
output=""
while read -r -d '' argument; do
  case $argument in
    -o) read -r -d '' output ;;
    -MT | -MF) read -r -d '' _ ;;
    -MD | -c) ;;
    *) preprocess+=("$argument") ;;
  esac
done < <(printf '%s\0' "$@")
[[ $output == *.gch ]] || exec "$@"
rm -f "$output"  # would be read in place of the headers
sum=$(CCACHE_DISABLE=1 "${preprocess[@]}" -E -P -dD | sha256sum)
"$@"
echo "$sum" >"$output.sum"
