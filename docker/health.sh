#!/usr/bin/env bash
# Whether what this container runs is well: `health.sh ray` (the default) or `health.sh tracking`.
set -euo pipefail
# shellcheck source=docker/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

ray_is_well() { ray health-check --address "${RAY_HEAD:-127.0.0.1:${RAY_PORT:-6379}}"; }

tracking_is_well() {
    exec 3<>"/dev/tcp/127.0.0.1/${TRACKING_PORT:-5000}"
    printf 'GET /health HTTP/1.0\r\n\r\n' >&3
    head -n 1 <&3 | grep -q ' 200 '
}

case ${1:-ray} in
ray) ray_is_well ;;
tracking) tracking_is_well ;;
*)
    echo "health.sh: must be asked about ray or tracking, but was about: $1" >&2
    exit 2
    ;;
esac
