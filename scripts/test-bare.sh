#!/usr/bin/env bash
# usage: scripts/test-bare.sh [--user]
# Runs the README's first command in a minimal Debian 12 (scripts/bare-root.sh; --user: as a user with sudo): `make run`
# must install what it needs and no package that only tests need, build with the console, serve the quickstart rules,
# answer requests from outside, and stop when asked to. Ends with a line that says whether it passed.
set -uo pipefail
cd "$(dirname "$0")/.."

packages() { dpkg-query -W -f='${Package}\n' | sort; }

# In the root: runs `make run` until standard input ends, then stops the server as a service manager would.
inside() {
  local before make status=0 file added
  before=$(packages)
  make run </dev/null &
  make=$!
  while kill -0 $make 2>/dev/null; do
    read -r -t 1 || [ $? -gt 128 ] || break
  done
  for file in /proc/[0-9]*/comm; do
    [ "$(cat "$file" 2>/dev/null)" != weir ] || kill -TERM "$(basename "$(dirname "$file")")"
  done
  wait $make || status=$?
  [ $status -eq 0 ] || { echo "make run ended with $status"; return 1; }
  # What was installed, of that what tests need, of that what the build does not need. Debian's npm depends on python3.
  added=$(comm -13 <(echo "$before") <(packages) | comm -12 - <(scripts/install-deps.sh --list test bench bare) |
    comm -23 - <({ scripts/install-deps.sh --list build && echo python3; } | sort -u) | tr '\n' ' ')
  [ -z "$added" ] || { echo "make run installed packages that only tests need: $added"; return 1; }
}
if [ "${1:-}" = --inside ]; then
  inside
  exit
fi

minutes=${BARE_MINUTES:-60}  # a build from an empty compiler cache on a busy machine takes long
scratch=$(mktemp -d)
log=$scratch/log
bare=""
result="failed: interrupted"
clean_up() {
  trap '' INT TERM HUP
  [ -z "$bare" ] || kill -TERM "$bare" 2>/dev/null
  wait 2>/dev/null
  rm -rf "$scratch"
  echo "make test-bare $result"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  result="failed: $1"
  exit 1
}

mkfifo "$scratch/stop"
exec 7> >(tee "$log")
WEIR_LISTEN_HTTP=127.0.0.1:0 WEIR_LISTEN_ADMIN=127.0.0.1:0 \
  scripts/bare-root.sh "$@" scripts/test-bare.sh --inside <"$scratch/stop" >&7 2>&1 7>&- &
bare=$!
exec 7>&- 8>"$scratch/stop"

# The address that the server says it can be asked at.
url=""
while [ -z "$url" ]; do
  if ! kill -0 "$bare" 2>/dev/null; then
    wait "$bare"
    [ $? -ne 99 ] || fail "no minimal Debian 12 to run in, see above"
    fail "make run ended before it served, see above"
  fi
  [ $SECONDS -lt $((minutes * 60)) ] || fail "make run did not serve within $minutes minutes"
  sleep 1
  url=$(sed -n -E 's,^ *curl -i (http://127\.0\.0\.1:[0-9]+)/.*,\1,p' "$log" | head -n 1)
done
answers=""
for _ in 1 2 3 4 5 6; do
  answers="$answers $(curl --silent --noproxy '*' --max-time 10 --output /dev/null --write-out '%{http_code}' "$url/v1/check" \
    --data '{"attributes":{"tenant":"acme","api_key":"demo"}}')"
done

exec 8>&-
wait "$bare" || fail "make run did not end well, see above"
bare=""
grep -q '^console: http' "$log" || fail "make run built no console"
[ "$answers" = " 200 200 200 200 200 429" ] || fail "the answers were$answers, not five times 200 and then 429"
result="passed in $SECONDS s"
