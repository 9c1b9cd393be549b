#!/bin/sh
# Two regions on this machine: a Redis and a node each, and one PostgreSQL. Ctrl-C ends all.
#   WEIR=build/bin/weir examples/regions/run.sh
# Then, for example, ask both for the same tenant:
#   curl -s localhost:8080/v1/check -d '{"attributes": {"action": "search", "tenant": "acme"}}'
#   curl -s localhost:8090/v1/check -d '{"attributes": {"action": "search", "tenant": "acme"}}'
set -eu
weir=$(realpath "${WEIR:-$(command -v weir)}")
cd "$(dirname "$0")"
data=$(mktemp -d)
postgres=${POSTGRES_BIN:-/usr/lib/postgresql/15/bin}
stop() {
  trap '' INT TERM
  kill $(jobs -p) 2>/dev/null || true # Ctrl-C has ended some of them already
  wait
  rm -rf "$data" hash_key
}
trap stop EXIT
trap 'exit 130' INT TERM
head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' > hash_key
chmod 600 hash_key
as=""
if [ "$(id -u)" = 0 ]; then # PostgreSQL does not run as root
  chown nobody "$data"
  as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
fi
$as "$postgres/initdb" --auth=trust --username=weir --pgdata="$data/pg" > /dev/null
$as "$postgres/postgres" -D "$data/pg" -k "$data" -p 54391 &
redis-server --port 6391 --save '' > /dev/null &
redis-server --port 6392 --save '' > /dev/null &
"$weir" serve --config eu.yaml &
"$weir" serve --config us.yaml &
wait
