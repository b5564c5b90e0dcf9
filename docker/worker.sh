#!/usr/bin/env bash
# A worker of a Ray cluster, in the foreground; arguments go to `ray start`.
set -euo pipefail
# shellcheck source=docker/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
require RAY_AUTH_TOKEN RAY_HEAD
look_at_data
exec ray start --block --address "$RAY_HEAD" --disable-usage-stats --dashboard-agent-listen-port "${AGENT_PORT:-52365}" "$@"
