"""`sweeper launch`: faults before anything starts, the cluster asked for, help."""

import json
from pathlib import Path

import pytest

from sweeper.commands.launch import main
from sweeper.driver import launching
from sweeper.driver.preparation import Options
from tests.sweeper.sweeps import SMALL


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(SMALL))
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["sweep.trails=3"], "did you mean 'trials'?"),
        (["run.method.name=ppbbi"], "did you mean 'ppbi'?"),
        (["run.method.tau_mx=1"], "did you mean 'tau_max'?"),
        (["run.benchmark.name=split_mnist"], "MNIST"),
        (["sweep.resources.gpu=3"], "at most 1 must be asked for"),
        (
            ["sweep.storage=/proc/nowhere"],
            "sweep.storage: /proc/nowhere: must be a place to write",
        ),
        (["sweep.tracking_uri=http://127.0.0.1:9"], "an MLflow store must answer"),
        (
            ["sweep.tracking_uri=http://me:hidden@127.0.0.1:9"],
            "http://127.0.0.1:9: must come without user and password; set MLFLOW_TRACKING",
        ),
        (["--address", "127.0.0.1:9"], "a Ray cluster must answer at 127.0.0.1:9, and take the"),
        (["--address", "garbage"], "at garbage, and take the token in RAY_AUTH_TOKEN or"),
        (["--address", ":6379"], "it must be HOST:PORT, ray://HOST:PORT or auto"),
        (["sweep.seed=4294967296"], "sweep.seed: input should be less than 2147483648"),
        (["--resume"], "there must be a sweep to go on with, but is none"),
        (["--status"], "must be the folder of a sweep"),
        (
            ["run.epochs=2", "space.training.epochs={grid: [1, 2]}"],
            "run.epochs must not stand beside it",
        ),
        (["run.split=test"], "a search may see validation data only"),
    ],
)
def test_a_fault_is_told_before_anything_starts(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    code = main([str(file), "--output", str(tmp_path / "out"), *options])
    printed = capsys.readouterr()
    assert code == 2
    assert message in printed.err.replace("\n", " ")
    assert "Traceback" not in printed.err
    assert "hidden" not in printed.err
    assert not (tmp_path / "out" / "study.journal").exists()


@pytest.mark.parametrize(
    "name", ["file", "file/below", "/dev/null", "/proc/x", "x" * 300, "loop", "dangling"]
)
def test_an_output_that_cannot_be_is_named(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    output = tmp_path / name
    assert main([str(file), "--output", str(output)]) == 2
    text = f"--output: {output}: must be a place to write to, but "
    assert text in capsys.readouterr().err


def test_faults_of_all_kinds_are_told_at_once(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ["run.method.name=ppbbi", "sweep.resources.gpu=3", "sweep.storage=/proc/nowhere"]
    assert main([str(file), "--output", str(tmp_path / "out"), *wrong]) == 2
    printed = capsys.readouterr().err
    assert "ppbbi" in printed
    assert "but got 3" in printed
    assert "/proc/nowhere" in printed


def test_a_pattern_needs_a_folder(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), "--only", "a"]) == 2
    assert "must come with a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "environment", "address"),
    [
        ([], {}, None),
        ([], {"RAY_ADDRESS": ""}, None),
        ([], {"RAY_ADDRESS": "auto"}, "auto"),
        (["--address", "10.0.0.1:6379"], {"RAY_ADDRESS": "auto"}, "10.0.0.1:6379"),
    ],
)
def test_the_cluster_is_the_one_asked_for_or_that_of_the_environment(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    environment: dict[str, str],
    address: str | None,
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    seen: list[Options] = []
    monkeypatch.setattr(launching, "launch", lambda _, asked, *__: seen.append(asked) or 0)
    assert main([str(file), *options]) == 0
    assert [asked.address for asked in seen] == [address]


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--select-only" in capsys.readouterr().out
