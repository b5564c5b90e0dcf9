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

# A folder of the host is often root's, or was made by Docker as root's because it was not there. Sweeps on digits do without it.
look_at_data() {
    local folder=${MPNET_DATA:-}
    if [ ! -d "$folder" ] || { [ -r "$folder" ] && [ -w "$folder" ] && [ -x "$folder" ]; }; then return 0; fi
    echo "${0##*/}: MPNET_DATA: $folder must be a folder that user $(id -u) reads and writes, but it is user $(stat -c '%u (mode %a)' "$folder")'s: data cannot" \
        "be kept there. On the host: chown --recursive $(id -u) the folder that MPNET_DATA names in docker/.env." >&2
}

# Even when told not to, Ray tells its makers that it was told so: hence an address of nobody. Nobody reads the metrics of nodes, whose port asks for no token.
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0 RAY_USAGE_STATS_REPORT_URL=http://127.0.0.1:9 RAY_enable_metrics_collection=0 MLFLOW_DISABLE_TELEMETRY=true
