#!/usr/bin/env bash
# Whether what this container runs is well: `health.sh ray` (the default) or `health.sh tracking`. Asked often, so without Python.
set -euo pipefail

answers() { # answers PORT PATH
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
    head -n 1 <&3 | grep -q ' 200 '
}

case ${1:-ray} in
ray) answers "${AGENT_PORT:-52365}" /api/local_raylet_healthz ;;
tracking) answers "${TRACKING_PORT:-5000}" /health ;;
*)
    echo "health.sh: must be asked about ray or tracking, but was about: $1" >&2
    exit 2
    ;;
esac
