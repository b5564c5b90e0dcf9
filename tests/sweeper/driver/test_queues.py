"""A queue of sweeps that is killed again and again, on real digits."""

import json
import time
from pathlib import Path
from random import Random

import pytest
from mlflow import MlflowClient

from sweeper.ledger import Ledger, open_ledger
from tests.sweeper.sweeps import SMALL, Command, kill


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three sweeps of two tasks, on grids: what is tried does not depend on who died when."""
    path = tmp_path / "three"
    path.mkdir()
    for name, method in (("a", "ft"), ("b", "ppbi"), ("c", "lra")):
        run = {**SMALL["run"], "method": {"name": method}, "epochs": 3}
        blocks = {
            "run": run,
            "space": {"method.tau_0": {"grid": [1e-5, 1e-6, 1e-7]}},
            "sweep": {"sampler": "grid", "checkpoint_epochs": 1},
            "select": {"top": 3, "seeds": 1},  # all: equals are told apart by their seconds
        }
        (path / f"{name}.yaml").write_text(json.dumps(blocks))
    return path


def n_ended(command: Command) -> int:
    """Trials and reruns of all sweeps that have come to an end."""
    folders = [path.parent for path in command.folder.glob("*/study.journal")]
    ledgers = [Ledger(folder) for folder in folders]
    records = [r for one in ledgers for r in (*one.trial_records(), *one.rerun_records())]
    return sum(record.state == "finished" for record in records)


def matrices(command: Command) -> dict[tuple[str, str], object]:
    """R of all that has finished, by sweep and key."""
    found: dict[tuple[str, str], object] = {}
    for name in ("a", "b", "c"):
        ledger = open_ledger(command.folder / name)
        for record in (*ledger.trial_records(), *ledger.rerun_records()):
            assert record.state == "finished"
            assert (name, record.key) not in found, "done twice"
            found[name, record.key] = record.R
    return found


@pytest.mark.slow
def test_a_queue_that_is_killed_five_times_ends_like_one_that_was_not(
    three: Path, tmp_path: Path
) -> None:
    commands = []
    for name in ("whole", "torn"):
        (tmp_path / name).mkdir()
        commands.append(Command(tmp_path / name))
        commands[-1].file = three
    whole, torn = commands
    whole.run()
    random = Random(0)
    for place in range(5):
        before = n_ended(torn)
        process = torn.start(*(["--resume"] if place else []))
        torn.wait_for(lambda: n_ended(torn) > before)  # noqa: B023 - waited for at once
        time.sleep(random.uniform(0, 3))
        kill(process.pid)
        process.communicate()
    torn.run("--resume")
    assert matrices(torn) == matrices(whole)
    assert len(matrices(torn)) == 3 * (3 + 3)
    for command in commands:
        client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
        experiments = [e.experiment_id for e in client.search_experiments() if len(e.name) == 1]
        runs = client.search_runs(experiments)
        assert len(runs) == 3 * (1 + 3 + 3)
        assert {run.info.status for run in runs} == {"FINISHED"}
    assert "All of these sweeps are finished; nothing was changed." in torn.run("--resume")
    assert torn.run("--status").count("[finished]") == 3
