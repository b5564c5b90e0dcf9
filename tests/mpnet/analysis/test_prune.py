"""Pruning: what is taken away is gone, in the right order, and is put back."""

import json

import numpy as np
import pytest
import torch

from mpnet.analysis import load_runs
from mpnet.analysis.prune import _SHARES, _ranks, measures_of, prune, share_at_fall
from mpnet.layers import Posterior
from tests.mpnet.analysis.conftest import Folder


@pytest.mark.parametrize("name", ["ft", "bbb", "plain_ft"])
def test_a_removed_parameter_is_exactly_zero_and_certain(folder: Folder, name: str) -> None:
    (run,) = load_runs([folder(name)])
    first = run.posteriors[0]
    chosen = torch.zeros_like(first.mean, dtype=torch.bool)
    chosen[2, 3] = True
    first.remove(chosen)
    now = run.posteriors[0]
    assert now.mean[2, 3] == 0
    assert now.var is None or now.var[2, 3] == 0
    others = ~chosen
    torch.testing.assert_close(
        now.mean[others], load_runs([folder(name)])[0].posteriors[0].mean[others]
    )


@pytest.mark.parametrize("name", ["ft", "bbb", "plain_ft"])
def test_without_any_parameter_a_network_guesses_and_knows_no_variance(
    folder: Folder, name: str
) -> None:
    (run,) = load_runs([folder(name)])
    for posterior in run.posteriors:
        posterior.remove(torch.ones_like(posterior.mean, dtype=torch.bool))
    shown = run.network.layers.predict(run.network(torch.randn(3, *run.stream.input_shape), 0))
    torch.testing.assert_close(shown.probabilities, torch.full((3, 2), 0.5))
    assert shown.variance is None or not shown.variance.any()


@pytest.mark.parametrize(
    ("measure", "order"),
    [("snr", [2, 3, 0, 1]), ("variance", [2, 0, 3, 1]), ("magnitude", [3, 0, 1, 2])],
)
def test_parameters_are_ordered_over_all_layers(measure: str, order: list[int]) -> None:
    mean, var = torch.tensor([-1.0, 2.0, 3.0, 0.5]), torch.tensor([2.0, 0.1, 50.0, 1.5])
    parts = [Posterior(str(i), mean[i : i + 2], var[i : i + 2], var[i : i + 2]) for i in (0, 2)]
    assert _ranks(parts, measure, 0).argsort().tolist() == order


def test_random_orders_are_permutations_of_their_own_for_every_seed() -> None:
    part = [Posterior("a", torch.zeros(50))]
    one, same, other = (_ranks(part, "random", seed) for seed in (0, 0, 1))
    assert sorted(one.tolist()) == list(range(50))
    assert one.tolist() == same.tolist() != other.tolist()


def test_only_networks_with_variances_are_ordered_by_them(folder: Folder) -> None:
    ft, plain = load_runs([folder("ft"), folder("plain_ft")])
    assert measures_of(ft) == ["snr", "variance", "magnitude", "random"]
    assert measures_of(plain) == ["magnitude", "random"]


def test_the_whole_network_has_its_accuracy_and_is_put_back(folder: Folder) -> None:
    (run,) = load_runs([folder("ft")])
    before = {name: value.clone() for name, value in run.network.state_dict().items()}
    found = prune([run])
    for name, value in run.network.state_dict().items():
        assert torch.equal(value, before[name])
    acc = json.loads((folder("ft") / "result.json").read_text())["acc"]
    whole = [float(row["accuracy"]) for row in found.rows if row["share"] == 0]
    assert whole == pytest.approx([acc] * 4, abs=1e-6)
    assert len(found.rows) == 4 * len(_SHARES)


def test_the_share_at_a_fall_lies_between_two_points() -> None:
    loss = np.zeros(len(_SHARES))
    loss[5:] = 0.04  # from 60 % to 70 % pruned
    assert share_at_fall(loss, 0.01) == pytest.approx(0.625)
    assert share_at_fall(np.zeros(len(_SHARES))) == 1.0
