#!/usr/bin/env bash
# Make a machine ready for docker/cluster.yaml: the environment, pinned by the lock file, and `python` and `ray` from it on the PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
EXTRAS=cluster PIP_CONSTRAINT=docker/requirements.lock ./run true
# At the top: Debian's own .bashrc ends early in shells without a terminal.
line="export PATH=$PWD/.venv/bin:\$PATH MPNET_HOME=$PWD RAY_AUTH_MODE=token"
touch ~/.bashrc
grep -qxF "$line" ~/.bashrc || sed -i "1i $line" ~/.bashrc
