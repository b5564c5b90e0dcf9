#!/usr/bin/env bash
# MLflow on PostgreSQL: user names and passwords, artifacts by way of the server, no other Host names than its own.
# The database is told by libpq's own variables (PGHOST, PGPORT, ...), so that no password stands in a URI or a list of processes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=docker/environment.sh
. "$here/environment.sh"
require PGHOST PGUSER PGPASSWORD PGDATABASE MLFLOW_AUTH_ADMIN_PASSWORD MLFLOW_FLASK_SERVER_SECRET_KEY
store=postgresql+psycopg://
export MLFLOW_AUTH_CONFIG_PATH="$here/basic_auth.ini" MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false
export MLFLOW_SERVER_ALLOWED_HOSTS=${TRACKING_NAMES:-localhost:*,127.0.0.1:*}
# Tables first: the processes of the server would make them all at once.
python "$here/users.py" "$store"
# Uvicorn gives its processes 5 s for an answer, also while they import: on a busy machine it would end them again and again.
exec mlflow server --app-name basic-auth --backend-store-uri "$store" --serve-artifacts \
    --artifacts-destination "${TRACKING_ARTIFACTS:-/artifacts}" --workers "${TRACKING_WORKERS:-2}" \
    --uvicorn-opts "--timeout-worker-healthcheck 300" \
    --host "${TRACKING_HOST:-127.0.0.1}" --port "${TRACKING_PORT:-5000}"
