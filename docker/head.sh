#!/usr/bin/env bash
# The head of a Ray cluster, in the foreground; arguments go to `ray start`.
set -euo pipefail
# shellcheck source=docker/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
require RAY_AUTH_TOKEN
look_at_data
exec ray start --head --block --port "${RAY_PORT:-6379}" --disable-usage-stats --dashboard-agent-listen-port "${AGENT_PORT:-52365}" \
    --dashboard-host "${DASHBOARD_HOST:-127.0.0.1}" --dashboard-port "${DASHBOARD_PORT:-8265}" "$@"
