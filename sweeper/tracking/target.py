"""Where the runs of a sweep go."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tracking:
    """The place in MLflow for the runs of a sweep; travels to every trial.

    Args:
        uri: absolute, such as sqlite:////home/me/mlflow.db or http://host:5000.
        outbox: absolute path of a folder that driver and trials share.
    """

    uri: str
    experiment_id: str
    parent_run_id: str
    sweep_id: str
    outbox: str
