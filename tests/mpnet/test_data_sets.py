"""Runs on several data sets: their names beside R, and sets that are not whole."""

import json
from pathlib import Path

import numpy as np
import pytest

from mpnet.__main__ import main
from mpnet.config import parse_run
from mpnet.datasets import dataset
from mpnet.errors import ConfigError

YAML = """run:
  benchmark: {name: sequence8, sets: [svhn, mnist]}
  network: {name: mlp, hidden: [8]}
  epochs: 1
"""
WORD = "benchmark.partial_data=[svhn, mnist]"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two sets, of which there are few images; `decoded` has them."""
    (tmp_path / "decoded").mkdir()
    generator = np.random.default_rng(0)
    for name in ("svhn", "mnist"):
        for part in ("train", "test"):
            stem = tmp_path / "decoded" / f"{name}-{part}-v1"
            images = generator.integers(0, 256, (200, *dataset(name).shape), dtype=np.uint8)
            np.save(f"{stem}-images.npy", images)
            np.save(f"{stem}-labels.npy", np.arange(200) % 10)
    (tmp_path / "two.yaml").write_text(YAML)
    monkeypatch.setenv("MPNET_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_partial_sets_are_refused_all_at_once(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["two.yaml"]) == 2
    said = capsys.readouterr().err
    for name, n in (("svhn", "73,257"), ("mnist", "60,000")):
        text = f"data set '{name}', part 'train', in {place}: there must be {n} images, but there"
        assert f"{text} are 200, 20 of each class." in said
        assert f"benchmark.partial_data=[{name}]" in said
    assert not (place / "runs").exists()


def test_partial_sets_are_used_with_the_word_which_is_kept_with_the_results(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["two.yaml", WORD, "--output", "out"]) == 0
    config = json.loads((place / "out" / "config.json").read_text())
    assert config["benchmark"]["partial_data"] == ["svhn", "mnist"]


def test_R_names_the_data_set_of_each_task(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["two.yaml", WORD, "--output", "out"]) == 0
    said = capsys.readouterr().err
    assert "task 1 svhn" in said and "task 2 mnist" in said
    head, *_ = (place / "out" / "R.csv").read_text().splitlines()
    assert head == "after_task,task_1_svhn,task_2_mnist"
    result = json.loads((place / "out" / "result.json").read_text())
    assert result["data_set_by_task"] == ["svhn", "mnist"]


def test_a_name_that_is_no_data_sets_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        parse_run({"benchmark": {"name": "digits", "partial_data": ["svnh"]}})
    text = "run.benchmark.partial_data: must name data sets (no 'svnh'; did you mean 'svhn'?)"
    assert text in str(error.value)


def test_the_word_changes_no_identity_since_the_data_do() -> None:
    plain, partial = (
        parse_run({"benchmark": {"name": "digits", **word}})
        for word in ({}, {"partial_data": ["svhn"]})
    )
    assert plain.identity() == partial.identity()
    assert plain.first_task_identity() == partial.first_task_identity()
    assert "partial_data" not in plain.identity()
