"""Real servers and real processes: stopped, killed, restarted, silent."""

import signal
import socket
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeper.tracking import RunLog, Tracking, deliver_outbox, run_ids
from tests.sweeper.servers import (
    Server,
    assert_eight_processes_log_all,
    opened,
    trial_process,
)

pytestmark = pytest.mark.slow


def steps(sweep: Tracking) -> list[int]:
    [run_id] = run_ids(sweep).values()
    return sorted(p.step for p in MlflowClient(sweep.uri).get_metric_history(run_id, "loss"))


def the_status(sweep: Tracking) -> str:
    [run_id] = run_ids(sweep).values()
    return str(MlflowClient(sweep.uri).get_run(run_id).info.status)


@pytest.mark.parametrize(("how", "seconds"), [(signal.SIGTERM, 60), (signal.SIGKILL, 5)])
def test_a_server_may_stop_and_come_back(
    server: Server, tmp_path: Path, how: signal.Signals, seconds: float
) -> None:
    sweep = opened(server.uri, tmp_path)
    log, longest, step = RunLog(sweep, "a", "a", {"lr": 0.1}, {}), 0.0, 0
    stop_at = time.monotonic() + 8
    start_at, end_at = stop_at + seconds, stop_at + seconds + 20
    is_stopped = is_back = False
    while time.monotonic() < end_at:
        if not is_stopped and time.monotonic() > stop_at:
            server.stop(how)
            is_stopped = True
        if not is_back and time.monotonic() > start_at:
            server.start()
            is_back = True
        begin = time.monotonic()
        log.metrics({"loss": 1.0 / (step + 1)}, step)
        log.artifact("step.txt", str(step))
        longest, step = max(longest, time.monotonic() - begin), step + 1
        time.sleep(0.05)
    log.close("FINISHED", patience=60)
    assert steps(sweep) == list(range(step))
    assert the_status(sweep) == "FINISHED"
    assert not list(Path(sweep.outbox).glob("*"))
    assert longest < 1.0, "the trial was kept waiting"
    [run_id] = run_ids(sweep).values()
    file = MlflowClient(sweep.uri).download_artifacts(run_id, "step.txt", str(tmp_path))
    assert Path(file).read_text() == str(step - 1)


def test_a_server_away_at_the_end_gets_the_run_later(server: Server, tmp_path: Path) -> None:
    sweep = opened(server.uri, tmp_path)
    log = RunLog(sweep, "a", "a", {}, {})
    log.metrics({"loss": 1.0}, 0)
    while log.pending():
        time.sleep(0.1)
    server.stop()
    log.metrics({"loss": 0.5}, 1)
    begin = time.monotonic()
    log.close("FINISHED", patience=3)
    assert time.monotonic() - begin < 5
    assert deliver_outbox(sweep) == 1
    server.start()
    assert deliver_outbox(sweep) == 0
    assert steps(sweep) == [0, 1]
    assert the_status(sweep) == "FINISHED"


def test_eight_processes_share_one_database(tmp_path: Path) -> None:
    sweep = opened(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    assert_eight_processes_log_all(sweep)


def test_a_process_ends_though_nobody_answers(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        sweep = Tracking(uri, "1", "parent", "s1", str(tmp_path / "outbox"))
        begin = time.monotonic()
        process = trial_process(sweep, 0.5, "a", "b")
        errors = process.communicate(timeout=60)[1]
    assert (process.returncode, errors) == (0, "")
    assert len(list(Path(sweep.outbox).glob("*.json"))) == 2
    assert time.monotonic() - begin < 30
