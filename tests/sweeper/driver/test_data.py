"""Data that are not whole, looked at before a sweep starts."""

import json
from pathlib import Path

import numpy as np
import pytest

from mpnet.datasets import dataset
from sweeper.commands.launch import main
from tests.sweeper.sweeps import SMALL

SVHN = {"name": "sequence8", "sets": ["svhn"]}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sweep on SVHN, of which a data root has few images."""
    monkeypatch.setenv("MPNET_DATA", str(tmp_path / "data"))
    for part in ("train", "test"):
        write(tmp_path / "data", part, 100)
    run = {**SMALL["run"], "benchmark": SVHN}
    (tmp_path / "small.yaml").write_text(json.dumps({**SMALL, "run": run}))
    return tmp_path / "small.yaml"


def write(root: Path, part: str, n: int) -> None:
    (root / "decoded").mkdir(parents=True, exist_ok=True)
    stem = root / "decoded" / f"svhn-{part}-v1"
    noise = np.random.default_rng(0).integers(0, 256, (n, *dataset("svhn").shape))
    np.save(f"{stem}-images.npy", noise.astype(np.uint8))
    np.save(f"{stem}-labels.npy", np.arange(n) % 10)


def test_a_sweep_on_partial_data_is_refused_before_anything_starts(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file), "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "data set 'svhn', part 'train', in " in said
    assert "there must be 73,257 images, but there are 100, 10 of each class." in said
    assert "use what is there: benchmark.partial_data=[svhn]" in said
    assert not (tmp_path / "out").exists()


def test_a_plan_of_one_says_which_data_to_get(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file), "--plan", "--output", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "data to get" in said and "there must be 73,257 images" in said


def test_the_word_lets_it_be_planned(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word = "run.benchmark.partial_data=[svhn]"
    assert main([str(file), "--plan", "--output", str(tmp_path / "out"), word]) == 0
    assert "data to get" not in capsys.readouterr().out


@pytest.mark.parametrize(("top", "code"), [(1, 2), (0, 0)])
def test_test_images_that_reruns_will_need_are_looked_for_before_the_search(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], top: int, code: int
) -> None:
    for part in tmp_path.glob("data/decoded/svhn-test-*"):
        part.unlink()
    word = "run.benchmark.partial_data=[svhn]"
    options = ["--output", str(tmp_path / "out"), word, f"select.top={top}"]
    if code == 0:  # a plan is enough to see that nothing lacks
        options.append("--plan")
    assert main([str(file), *options]) == code
    said = capsys.readouterr()
    assert ("data set 'svhn', part 'test': there must be" in said.err) is (code == 2)
    assert "data to get" not in said.out
