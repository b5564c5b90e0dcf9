#!/usr/bin/env bash
# A sweep on the cluster whose head runs here; arguments are those of `python -m sweeper.launch`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. docker/environment.sh
require RAY_AUTH_TOKEN
look_at_data
export RAY_ADDRESS=${RAY_ADDRESS:-auto}
export MPNET_LAUNCH=${MPNET_LAUNCH:-docker compose -f docker/compose.yaml exec head docker/launch.sh}
exec python -m sweeper.launch "$@"
