"""MLflow's users: their tables, and whether the admin has the password that nodes are told."""

import os
import sys

from mlflow.server.auth.sqlalchemy_store import SqlAlchemyStore

store = SqlAlchemyStore()
store.init_db(sys.argv[1])
told = os.environ["MLFLOW_AUTH_ADMIN_PASSWORD"]
if store.has_user("admin") and not store.authenticate_user("admin", told):
    sys.stderr.write(
        "tracking.sh: MLFLOW_TRACKING_PASSWORD must be the password of admin in the database, "
        "which is that of the first start, but is another one, and every sweep would be refused "
        "(401). Put the former one back into docker/.env; docker/README.md has how to change it.\n"
    )
    sys.exit(2)
