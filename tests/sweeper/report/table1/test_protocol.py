"""The paper's protocol: what departs from it, and what is not the same for all rows."""

from typing import Any

import pytest

from sweeper.report.table1.protocol import RULES, departures, flat, unequal
from tests.sweeper.report.table1.test_paper import resolved

PAPER = {
    "network": {"name": "mlp", "hidden": [800, 800]},
    "layers": {"likelihood": "gaussian", "jitter": 1e-3},
    "method": {"name": "lra", "variance": "adam", "scale": "linear", "guard": 0.0},
}


def test_a_run_as_the_paper_has_it_departs_in_nothing() -> None:
    later = {"accumulate": "last"}
    assert departures(resolved(**{**PAPER, "method": {**PAPER["method"], **later}})) == []


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"training": {"epochs": 5}}, "epochs 5 (paper: 250)"),
        ({"training": {"patience": 20}}, "patience 20 (reading: none)"),
        (
            {"benchmark": {"name": "digits", "max_train_per_class": 200}},
            "training images per class 200 (paper: all)",
        ),
        (
            {"benchmark": {"name": "digits", "class_order": 0}},
            "class order 0 (paper: ascending)",
        ),
        ({"network": {"name": "alexnet", "dropout": True}}, "dropout True (reading: none)"),
    ],
)
def test_a_departure_is_named_with_what_should_be(block: dict[str, Any], text: str) -> None:
    assert text in departures({**resolved(**PAPER), **block})


def test_our_own_defaults_depart_and_say_so() -> None:
    found = departures(resolved(method={"name": "ppbi"}))
    assert "likelihood expected_softmax (paper: gaussian)" in found
    assert "variance natural (reading: adam)" in found
    assert "scale rank (paper: linear)" in found


def test_what_a_run_does_not_have_is_no_departure() -> None:
    found = departures(resolved(method={"name": "ewc"}, network=PAPER["network"]))
    assert not [text for text in found if "likelihood" in text or "variance" in text]


def test_the_jitter_matters_only_to_the_likelihood_that_has_it() -> None:
    other = resolved(layers={"likelihood": "tight_softmax"})
    assert not any("jitter" in text for text in departures(other))
    gaussian = resolved(layers={"likelihood": "gaussian", "jitter": 0.1})
    assert "jitter 0.1 (reading: 0.001)" in departures(gaussian)


def test_every_rule_is_about_a_key_that_runs_have() -> None:
    runs = [
        resolved(**PAPER, benchmark={"name": "split_mnist"}),
        resolved(network={"name": "alexnet"}, benchmark={"name": "split_cifar10"}),
    ]
    keys = {key for run in runs for key in flat(run)}
    assert {rule.key for rule in RULES} <= keys


def test_what_rows_do_not_share_is_said_with_the_rows() -> None:
    runs = {
        "EWC": {"training": {"patience": 20}, "network": {"dropout": True}},
        "SI": {"training": {"patience": 20}, "network": {"dropout": True}},
        "MP-FT": {"training": {"patience": None}, "network": {"dropout": True}},
    }
    assert unequal(runs) == ["patience 20 (EWC, SI) or none (MP-FT)"]


def test_what_is_searched_or_belongs_to_a_method_may_differ() -> None:
    runs = {
        "EWC": {"training": {"learning_rate": 1e-3}, "method": {"strength": 1}},
        "SI": {"training": {"learning_rate": 1e-2}, "method": {"strength": 2}},
    }
    assert unequal(runs, ["training.learning_rate"]) == []
