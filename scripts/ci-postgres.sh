#!/bin/sh
# A private PostgreSQL for the tests, from Debian's packages, on loopback and a free port.
#   scripts/ci-postgres.sh start FOLDER   makes a cluster in the new FOLDER, prints its admin URL
#   scripts/ci-postgres.sh stop FOLDER    stops it and removes FOLDER
set -eu
# runuser is an administrator's program: not on every PATH.
PATH=$PATH:/usr/sbin:/sbin

usage() {
  echo "usage: scripts/ci-postgres.sh start|stop FOLDER" >&2
  exit 2
}
[ $# -eq 2 ] || usage
action=$1
case $2 in /*) folder=$2 ;; *) folder=$PWD/$2 ;; esac

# The newest installed version: Debian keeps them out of PATH.
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
[ -x "$bin/initdb" ] || {
  echo "ci-postgres: initdb not found: apt-get install postgresql postgresql-contrib" >&2
  exit 4
}

# PostgreSQL refuses to run as root.
as_owner() {
  if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

free_port() {
  node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}

start() {
  mkdir -m 700 "$folder"
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s' "$password" >"$folder/password"
  if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$folder"; fi
  cd "$folder" # a folder that the owner may stand in
  as_owner "$bin/initdb" --pgdata="$folder/data" --username=postgres --pwfile="$folder/password" --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync >"$folder/initdb.log"
  port=$(free_port)
  # Tests need no durability.
  as_owner "$bin/pg_ctl" --pgdata="$folder/data" --log="$folder/postgres.log" --wait --timeout=120 start --options="-p $port \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories=$folder -c fsync=off -c full_page_writes=off -c max_connections=200" \
    >/dev/null || {
    cat "$folder/postgres.log" >&2
    exit 1
  }
  echo "postgres://postgres:$password@127.0.0.1:$port/postgres"
}

stop() {
  cd "$folder"
  as_owner "$bin/pg_ctl" --pgdata="$folder/data" --mode=immediate --wait stop >/dev/null || true
  cd /
  rm -rf "$folder"
}

case $action in
start | stop) "$action" ;;
*) usage ;;
esac
