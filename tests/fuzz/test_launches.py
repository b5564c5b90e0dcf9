"""Whatever is asked for: a plan, or a message. No traceback, and nothing is left behind."""

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings

from sweeper.commands.launch import main
from sweeper.driver import launching
from tests.fuzz.inputs import Launch, launches
from tests.sweeper.sweeps import SMALL

FOUND = [  # by hand, in their smallest form; what the fuzzer finds belongs here too
    Launch(json.dumps(SMALL), ["space=5"], "out", {}),
    Launch(json.dumps(SMALL), ["run.epochs=!!timestamp x"], "out", {}),
    Launch(json.dumps(SMALL), [], "loop", {}),
    Launch(json.dumps({**SMALL, "select": {"\U00010000": 0}}), [], "out", {}),
    Launch(json.dumps({**SMALL, "select": {"\ud800": 0}}), [], "out", {}),
    Launch(json.dumps(SMALL), ["select.\ud800=0"], "out", {}),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with paths that cannot be folders; a step is measured for no time."""
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launching, "_SECONDS_TO_MEASURE", 0.0)
    for name in ("RAY_ADDRESS", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path


def answer(launch: Launch, place: Path) -> int:
    """The exit code of a plan; a message is there where it is 2, and nothing else is written."""
    (place / "fuzz.yaml").write_text(launch.file)
    before = {path.name for path in place.iterdir()}
    error = io.StringIO()
    arguments = ["fuzz.yaml", "--plan", "--output", launch.output, *launch.overrides]
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(error),
        mock.patch.dict("os.environ", launch.environment),
    ):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    assert code in (0, 2)
    assert code == 0 or error.getvalue().strip()
    assert "Traceback" not in error.getvalue()
    made = {launch.environment.get("MPNET_DATA")}  # a cache may be made where one is asked for
    assert {path.name for path in place.iterdir()} - made == before - made
    return code


def tried(n: int, place: Path, is_repeatable: bool) -> list[int]:
    """The answers to so many launches."""
    codes: list[int] = []
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

    @settings(
        max_examples=n,
        deadline=None,
        derandomize=is_repeatable,
        database=None,
        suppress_health_check=checks,
    )
    @given(launches())
    def attempt(launch: Launch) -> None:
        codes.append(answer(launch, place))

    attempt()
    return codes


@pytest.mark.parametrize("launch", FOUND)
def test_what_was_found_is_answered(launch: Launch, place: Path) -> None:
    assert answer(launch, place) == 2


def test_a_hundred_launches_are_planned_or_refused(place: Path) -> None:
    codes = tried(100, place, is_repeatable=True)
    assert len(codes) >= 100
    assert codes.count(0) >= len(codes) / 2, "most must be planned, or little is tried"


@pytest.mark.slow
def test_two_thousand_launches_are_planned_or_refused(place: Path) -> None:
    codes = tried(2_000, place, is_repeatable=False)
    print(f"{len(codes)} launches, {codes.count(0)} planned")
    assert codes.count(0) >= len(codes) / 2
