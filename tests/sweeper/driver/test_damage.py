"""Files of a sweep that were harmed, deleted or moved: named, set aside, and the sweep goes on."""

import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeper.ledger import JOURNAL
from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A sweep that is over; tests harm copies of it."""
    command = Command(tmp_path_factory.mktemp("finished"), "run.epochs=1")
    command.run()
    return command


@pytest.fixture
def command(finished: Command, tmp_path: Path) -> Command:
    """The same sweep in another folder, while the old one is away."""
    moved = Command(tmp_path, *finished.overrides)
    shutil.copytree(finished.folder, moved.folder)
    return moved


def test_a_deleted_database_is_rebuilt_from_the_ledger(command: Command) -> None:
    (command.folder / "mlflow.db").unlink()
    shutil.rmtree(command.folder / "mlartifacts")
    printed = command.run("--resume")
    assert "MLflow lacked 5 runs, written again from the ledger." in printed
    assert_ledger_and_mlflow_agree(command)
    client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
    (experiment,) = [e for e in client.search_experiments() if e.name == "small"]
    trial = client.search_runs([experiment.experiment_id], "tags.`sweeper.role` = 'trial'")[0]
    assert {"R.json", "config.yaml"} <= {f.path for f in client.list_artifacts(trial.info.run_id)}
    assert "This sweep is finished; nothing was changed." in command.run("--resume")


def test_a_truncated_database_is_set_aside_and_rebuilt(command: Command) -> None:
    path = command.folder / "mlflow.db"
    path.write_bytes(path.read_bytes()[:100_000])
    printed = command.run("--resume")
    assert f"{path}: must be a sound database, but is damaged; it is set aside as" in printed
    assert (command.folder / "mlflow.db.damaged1").exists()
    assert "MLflow lacked 5 runs" in printed
    assert "Traceback" not in printed
    assert_ledger_and_mlflow_agree(command)


def test_a_begun_sweep_can_be_pointed_to_another_store(command: Command, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/other/mlflow.db"
    command.run("--resume", "--tracking-uri", uri)
    assert_ledger_and_mlflow_agree(command, uri)
    command.run("--resume", "sweep.trials=4")  # it stays there
    assert len(command.finished()) == 4
    assert_ledger_and_mlflow_agree(command, uri)


def test_a_moved_sweep_does_not_come_back_to_its_old_folder(
    finished: Command, command: Command
) -> None:
    old = finished.folder.with_name("away")
    finished.folder.rename(old)
    try:
        printed = command.run("--resume")
        assert "This sweep is finished; nothing was changed." in printed
        assert str(finished.folder) not in printed
        command.run("--resume", "sweep.trials=4", "select.seeds=3")
        assert not finished.folder.exists()
        assert_ledger_and_mlflow_agree(command)
        client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
        for experiment in client.search_experiments():
            for run in client.search_runs([experiment.experiment_id]):
                assert run.info.artifact_uri.startswith(f"file://{command.folder}/")
                assert client.list_artifacts(run.info.run_id)
    finally:
        old.rename(finished.folder)


def test_damaged_lines_and_records_are_named_and_the_sweep_goes_on(command: Command) -> None:
    journal = command.folder / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b'{"outcome"' in line)
    lines[place] = lines[place].replace(b'"metrics"', b'"netrics"')
    journal.write_bytes(b"".join(lines))
    (command.folder / "outbox").mkdir(exist_ok=True)
    (command.folder / "outbox" / "search-abc@1.json").write_bytes(b"")
    (command.folder / "outbox" / "search-def@1.json").write_bytes(b'{"start": {"key"')
    printed = command.run("--resume")
    assert f"{JOURNAL}: line {place + 1} is damaged: it held the outcome of trial" in printed
    assert "has lost its outcome: it is run again." in printed
    assert f"mended; as it was, it is in {journal}.damaged1." in printed
    for name in ("abc", "def"):
        text = f"outbox/search-{name}@1.json: must be a record for MLflow, but is damaged"
        assert text in printed
        assert (command.folder / "outbox.damaged" / f"search-{name}@1.json").exists()
    assert "Traceback" not in printed
    assert len(command.finished()) == 3
    assert_ledger_and_mlflow_agree(command)
