"""Where to look at sweeps, from here and from elsewhere."""

from pathlib import Path

import pytest

from sweeper.driver.cluster import Share
from sweeper.driver.places import places_of, places_of_all
from sweeper.driver.preparation import OpenedSweep, PreparedSweep
from sweeper.ledger import Ledger
from sweeper.tracking import Tracking
from tests.sweeper.driver.queues import swept

STORE = "sqlite:////a/mlflow.db"


@pytest.fixture(autouse=True)
def at_the_machine_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_CONNECTION", "MPNET_FETCH", "MPNET_MLFLOW_UI", "MPNET_RUN"):
        monkeypatch.delenv(name, raising=False)


def prepared(folder: Path, uri: str) -> PreparedSweep:
    return PreparedSweep(OpenedSweep(swept("a", 2), Ledger(folder)), uri, [], Share(1, 0, 4))


def lines(folder: Path, uri: str) -> dict[str, str]:
    found = places_of(prepared(folder, uri), Tracking(uri, "7", "p", "s1", "/outbox"))
    return {name: text.strip() for name, _, text in (line.partition(":") for line in found)}


def test_a_sweep_has_a_report_pages_in_mlflow_and_a_dashboard(tmp_path: Path) -> None:
    found = lines(tmp_path, STORE)
    assert list(found) == ["report", "MLflow", "trials", "charts", "Optuna"]
    assert found["report"] == str(tmp_path / "report.html")
    assert found["MLflow"] == f"mlflow ui --backend-store-uri {STORE}"
    assert "MLflow" not in lines(tmp_path, "http://host:5000")


def test_several_sweeps_of_one_store_have_one_command_to_look_at_it(tmp_path: Path) -> None:
    uris = [STORE, STORE, "http://host:5000"]
    every = [prepared(tmp_path / str(n), uri) for n, uri in enumerate(uris)]
    assert places_of_all(tmp_path, every) == [
        f"reports: {tmp_path}/*/report.html",
        f"MLflow:  mlflow ui --backend-store-uri {STORE}",
    ]


def test_who_came_over_ssh_is_told_of_a_tunnel_and_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5555 10.0.0.2 2222")
    monkeypatch.setenv("LOGNAME", "ada")
    found = lines(tmp_path, STORE)
    assert found["report"] == f"scp -P 2222 'ada@10.0.0.2:{tmp_path}/report.html' ."
    assert found["tunnel"].startswith("ssh -N -L 5000:127.0.0.1:5000 -p 2222 ada@10.0.0.2 ")
    assert "tunnel" not in lines(tmp_path, "http://mlflow.example.org")


def test_in_a_container_files_and_links_are_those_of_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPNET_FETCH", "docker cp head:{} .")
    monkeypatch.setenv("MPNET_MLFLOW_UI", "http://127.0.0.1:5000")
    found = lines(tmp_path, "http://tracking:5000")
    assert found["report"] == f"docker cp head:{tmp_path}/report.html ."
    assert found["trials"].startswith("http://127.0.0.1:5000/#/")
