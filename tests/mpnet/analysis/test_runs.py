"""Runs as they are read back from their folders."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from mpnet.analysis import load_runs
from mpnet.analysis._runs import groups_of
from mpnet.analysis.calibration import calibration
from mpnet.analysis.cdf import cdf
from mpnet.checkpoint import Checkpoints
from mpnet.continual import run
from mpnet.errors import ConfigError
from mpnet.evaluation import evaluate
from mpnet.results import write_results
from tests.mpnet.analysis.conftest import Folder
from tests.mpnet.conftest import digits_run, trained


def test_a_loaded_network_answers_as_the_trained_one_did(folder: Folder) -> None:
    (loaded,) = load_runs([folder("ppbi")])
    R = json.loads((folder("ppbi") / "result.json").read_text())["R"]
    for i, task in enumerate(loaded.stream):
        assert evaluate(loaded.network, task, task.evaluation, i).accuracy == R[-1][i]


@pytest.mark.parametrize("kind", ["frozen", "per_task"])
def test_a_loaded_network_has_the_norms_of_every_task(kind: str, tmp_path: Path) -> None:
    config = digits_run("lra", network={"name": "mlp", "hidden": [8], "batch_norm": kind})
    results = run(config, checkpoints=Checkpoints(tmp_path))
    write_results(tmp_path, config, results)
    (loaded,) = load_runs([tmp_path])
    for i, task in enumerate(loaded.stream):
        assert evaluate(loaded.network, task, task.evaluation, i).accuracy == results.R[-1, i]
    assert {loaded.layer_of(p) for p in loaded.posteriors if "trunk" in p.path} == {"layer 1"}
    assert len(cdf([loaded]).rows) > 0
    assert len(calibration([loaded]).rows) > 0


def test_another_split_can_be_judged(folder: Folder) -> None:
    (loaded,) = load_runs([folder("ppbi")], "test")
    task = loaded.stream[0]
    assert loaded.config.split == "test"
    assert task.evaluation.pool is not task.validation.pool


@pytest.mark.parametrize(("name", "held"), [("lra", "alpha"), ("ppbi", "tau")])
def test_what_a_method_held_is_kept_after_every_task(folder: Folder, name: str, held: str) -> None:
    (loaded,) = load_runs([folder(name)])
    assert [state["name"] for state in loaded.kept if state] == [held] * 5
    last = loaded.kept[-1]
    assert last is not None
    torch.testing.assert_close(last["values"], getattr(loaded.method, held), rtol=0, atol=0)
    after_first = loaded.kept[0]
    assert after_first is not None
    expected = getattr(trained(loaded.config, 1), held)
    torch.testing.assert_close(after_first["values"], expected)


def test_a_run_that_keeps_its_task_ends_is_the_same_run(tmp_path: Path) -> None:
    config = digits_run("lra")
    keeping = run(config, checkpoints=Checkpoints(tmp_path, keeps_task_ends=True))
    assert keeping.R.tobytes() == run(config).R.tobytes()


def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    run(digits_run("lra"), checkpoints=Checkpoints(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_starting_anew_deletes_what_was_kept(folder: Folder, tmp_path: Path) -> None:
    copy = shutil.copytree(folder("lra"), tmp_path / "copy")
    Checkpoints(copy).delete()
    assert not list(copy.glob("*.pt"))


def test_all_folders_without_a_finished_run_are_named_at_once(
    folder: Folder, tmp_path: Path
) -> None:
    torn = shutil.copytree(folder("lra"), tmp_path / "torn")
    (torn / "checkpoint.pt").write_bytes((torn / "checkpoint.pt").read_bytes()[:300])
    other = shutil.copytree(folder("lra"), tmp_path / "other")
    shutil.copy(folder("ppbi") / "checkpoint.pt", other)
    weightless = shutil.copytree(folder("lra"), tmp_path / "weightless")
    Checkpoints(weightless).delete()
    with pytest.raises(ConfigError) as caught:
        load_runs([tmp_path / "missing", torn, other, folder("lra"), weightless])
    lines = str(caught.value).splitlines()
    wanted = ["config.json: the conf", "must be a complete", "another conf", "no checkpoint.pt"]
    assert [text in line for text, line in zip(wanted, lines, strict=True)] == [True] * 4


def test_runs_that_differ_in_their_seed_alone_are_one_group(folder: Folder) -> None:
    runs = load_runs([folder("ft"), folder("plain_ft"), folder("ft", 1)])
    groups = groups_of(runs)
    assert [(group.label, len(group.runs)) for group in groups] == [("MP-FT", 2), ("PLAIN FT", 1)]


def test_layers_are_counted_and_heads_are_named(folder: Folder) -> None:
    (loaded,) = load_runs([folder("bbb")])
    names = dict.fromkeys(loaded.layer_of(posterior) for posterior in loaded.posteriors)
    assert list(names) == ["layer 1", *(f"head {t}" for t in range(1, 6))]


@pytest.mark.parametrize("name", ["ft", "bbb", "plain_ft", "ucl", "hat"])
def test_every_weight_and_bias_is_known(folder: Folder, name: str) -> None:
    (loaded,) = load_runs([folder(name)])
    n_known = sum(posterior.mean.numel() for posterior in loaded.posteriors)
    assert n_known == (64 + 1) * 16 + 5 * (16 + 1) * 2
