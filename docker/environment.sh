# shellcheck shell=bash
# Sourced by the scripts beside it: what they must be told, and what holds for all of them.
# All that is missing is said at once.
require() {
    local name missing=()
    for name in "$@"; do [ -n "${!name:-}" ] || missing+=("$name"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "${0##*/}: must be set in the environment, but is not: ${missing[*]}; docker/.env.example says what they are." >&2
    exit 2
}

export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0 MLFLOW_DISABLE_TELEMETRY=true
