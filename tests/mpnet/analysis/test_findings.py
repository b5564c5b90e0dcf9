"""What the analyses find, held against naive computations."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from mpnet import continual, metrics
from mpnet.analysis import load_runs
from mpnet.analysis.calibration import answers_of, calibration
from mpnet.analysis.cdf import cdf, decibels
from mpnet.analysis.ood import _Judged, ood
from mpnet.analysis.spread import spread
from mpnet.checkpoint import Checkpoints
from mpnet.errors import ConfigError
from mpnet.evaluation import Answers
from mpnet.results import write_results
from tests.mpnet.analysis.conftest import Folder
from tests.mpnet.conftest import digits_run


def test_decibels_are_those_of_a_ratio() -> None:
    assert decibels(torch.tensor([0.0, 0.1, 1.0, 100.0])).tolist() == pytest.approx(
        [-np.inf, -10, 0, 20]
    )


@pytest.mark.parametrize("name", ["ft", "bbb"])
def test_a_cdf_says_how_many_parameters_lie_below(folder: Folder, name: str) -> None:
    (run,) = load_runs([folder(name)])
    layer = [p for p in run.posteriors if run.layer_of(p) == "layer 1"]
    var = np.concatenate([p.var.double().numpy().ravel() for p in layer if p.var is not None])
    mean = np.concatenate([p.mean.double().numpy().ravel() for p in layer])
    snr = 10 * np.log10(np.abs(mean) / var)
    rows = [row for row in cdf([run]).rows if row["layer"] == "layer 1"]
    for row in rows[100::300]:
        for column, values in (("var", var), ("snr_db", snr)):
            value, share = float(row[column]), float(row["share"])
            slack = 1e-7 * abs(value)  # of the printed digits
            assert (values < value - slack).mean() <= share + 0.002
            assert (values <= value + slack).mean() >= share - 0.002


def test_a_network_without_variances_has_no_cdf(folder: Folder) -> None:
    with pytest.raises(ConfigError, match="every parameter must have a variance"):
        cdf(load_runs([folder("plain_ft")]))


def _naive_bins(confidence: np.ndarray, is_right: np.ndarray) -> Iterator[tuple[int, float]]:
    for low in range(15):
        inside = [i for i, c in enumerate(confidence) if low <= min(int(c * 15), 14) < low + 1]
        gap = sum(is_right[i] - confidence[i] for i in inside)
        yield len(inside), abs(gap)


def test_a_reliability_diagram_counts_every_answer(folder: Folder) -> None:
    (run,) = load_runs([folder("ft")])
    found = answers_of(run)
    naive = list(_naive_bins(found.confidence, found.is_right))
    rows = calibration([run]).rows
    assert [row["answers"] for row in rows] == [n for n, _ in naive]
    error = sum(gap for _, gap in naive) / len(found.confidence)
    assert metrics.calibration_error(found.confidence, found.is_right) == pytest.approx(error)


def _judged(own: list[float], foreign: list[float]) -> _Judged:
    ones = (Answers(np.ones(len(v)), np.ones(len(v)), np.array(v)) for v in (own, foreign))
    return _Judged(None, None, *ones)  # type: ignore[arg-type]


def test_auroc_is_the_chance_that_a_foreign_image_stands_out() -> None:
    generator = np.random.default_rng(0)
    own, foreign = generator.integers(0, 9, 40), generator.integers(3, 12, 30)
    wins = [(f > o) + 0.5 * (f == o) for o in own for f in foreign]
    found = _judged(own.tolist(), foreign.tolist()).auroc("variance")
    assert found == pytest.approx(float(np.mean(wins)))


def test_without_a_variance_there_is_no_auroc_of_it() -> None:
    assert np.isnan(_judged([np.nan], [np.nan]).auroc("variance"))


def test_a_network_is_shown_as_many_foreign_images_as_its_own(folder: Folder) -> None:
    rows = ood(load_runs([folder("ft"), folder("plain_ft")]), against="digits").rows
    n = {name: sum(row["images"] == name for row in rows) for name in ("own", "digits")}
    assert n["own"] == n["digits"] > 0


@pytest.mark.parametrize(("against", "match"), [("mnist", "shape"), ("digit", "did you mean")])
def test_images_that_do_not_fit_are_refused(folder: Folder, against: str, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        ood(load_runs([folder("ft")]), against=against)


@pytest.mark.parametrize("name", ["lra", "ppbi"])
def test_the_spread_is_that_of_what_was_kept(folder: Folder, name: str) -> None:
    (run,) = load_runs([folder(name)])
    rows = spread([run]).rows
    assert [row["after_task"] for row in rows] == [1, 2, 3, 4, 5]  # one hidden layer
    for row, state in zip(rows, run.kept, strict=True):
        assert state is not None
        share = state["values"].double() / float(row["limit"])
        freedom = share if name == "lra" else 1 - share
        assert float(row["freedom_q50"]) == pytest.approx(float(freedom.quantile(0.5)), abs=1e-5)
        for column, chosen in (("held", freedom < 0.1), ("free", freedom > 0.9)):
            assert float(row[column]) == pytest.approx(float(chosen.double().mean()), abs=1e-6)


def test_the_spread_says_what_the_run_said(folder: Folder) -> None:
    place = folder("lra")
    said = json.loads((place / "result.json").read_text())["selectivity_by_task"]
    for row, after in zip(spread(load_runs([place])).rows, said, strict=True):
        one = after["layers"][str(row["layer"])]
        assert float(row["selectivity"]) == pytest.approx(one["selectivity"], abs=1e-6)
        assert float(row["held"]) == pytest.approx(one["held"], abs=1e-6)


def test_the_spread_of_several_layers_ends_with_the_whole_trunk(tmp_path: Path) -> None:
    config = digits_run("ppbi", network={"name": "mlp", "hidden": [8, 4]})
    results = continual.run(config, checkpoints=Checkpoints(tmp_path, keeps_task_ends=True))
    write_results(tmp_path, config, results)
    rows = spread(load_runs([tmp_path])).rows
    assert [row["layer"] for row in rows] == ["layer 1", "layer 2", "trunk"] * 5
    sizes = [int(row["parameters"]) for row in rows[:3]]
    assert sizes[0] + sizes[1] == sizes[2]
    held = [float(row["held"]) for row in rows[:3]]
    assert (sizes[0] * held[0] + sizes[1] * held[1]) / sizes[2] == pytest.approx(held[2], abs=1e-5)


def test_a_method_that_holds_nothing_has_no_spread(folder: Folder) -> None:
    with pytest.raises(ConfigError, match="alpha or tau must have been kept"):
        spread(load_runs([folder("ft")]))
