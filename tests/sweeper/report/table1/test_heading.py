"""What stands above the table: its protocol, what departs from it, its seeds."""

from typing import Any

import pytest

from sweeper.report.table1.cells import SweepHistory, table_of
from sweeper.report.table1.heading import about, inequalities, protocol, seeds
from sweeper.report.table1.paper import COLUMNS
from sweeper.report.table1.protocol import EPOCHS
from tests.sweeper.records import finished
from tests.sweeper.report.table1.folder import folder_table
from tests.sweeper.table1_records import TESTS, TWO_TASKS, recorded

EWC = {"name": "ewc"}
FIVE_TASKS = {"name": "split_mnist", "n_tasks": 5}


def at(row: str, benchmark: dict[str, Any] = TWO_TASKS, **training: Any) -> SweepHistory:
    return recorded({"name": row}, [], [], benchmark=benchmark, **training)


def everywhere(**training: Any) -> list[SweepHistory]:
    return [at("ewc", {"name": c.benchmark, "n_tasks": c.n_tasks}, **training) for c in COLUMNS]


def test_the_head_says_that_the_protocol_is_the_papers() -> None:
    [text] = protocol(table_of([at("ewc", epochs=250, batch_size=500)]))
    assert text == "The paper's protocol (250 epochs, batch 500)."


@pytest.mark.parametrize(
    ("sweeps", "where"),
    [
        (everywhere(epochs=9), "all columns"),
        ([at("ewc", epochs=9), at("si", epochs=9)], "2-Split MNIST"),
        ([at("ewc", epochs=9), at("si", epochs=9), at("hat")], "2-Split MNIST (except HAT)"),
        ([at("ewc", epochs=9), at("si"), at("hat")], "2-Split MNIST (only EWC)"),
        ([at("ewc", epochs=9), at("si", FIVE_TASKS)], "2-Split MNIST"),
        (
            [at("ewc", epochs=9), at("si", FIVE_TASKS, epochs=9)],
            "2-Split MNIST, 5-Split MNIST",
        ),
    ],
)
def test_the_head_says_which_columns_depart(sweeps: list[SweepHistory], where: str) -> None:
    texts = protocol(table_of(sweeps))
    assert texts[0].startswith("Not the paper's protocol (250 epochs, batch 500)")
    assert texts[1] == f"epochs 9 (paper: 250): {where}."
    is_mixed = any(sweep.sweep.run["training"]["epochs"] == EPOCHS for sweep in sweeps)
    assert texts[2:] == (
        ["All other cells: the paper's protocol (250 epochs, batch 500)."] if is_mixed else []
    )


def test_the_best_trial_says_what_departs_once_there_is_one() -> None:
    space = {"training.epochs": {"grid": [9, EPOCHS]}}
    trials = [
        finished(number, acc, 0.0, values={"training.epochs": epochs})
        for number, (acc, epochs) in enumerate([(0.9, 9), (0.8, EPOCHS)])
    ]
    _, *texts = protocol(table_of([recorded(EWC, trials, [], space=space)]))
    assert texts == ["epochs 9 (paper: 250): 2-Split MNIST."]


def test_every_departure_is_named() -> None:
    few = {**TWO_TASKS, "max_train_per_class": 200}
    texts = protocol(table_of([at("ewc", few, epochs=9)]))
    assert texts[1:] == [
        "epochs 9 (paper: 250): 2-Split MNIST.",
        "training images per class 200 (paper: all): 2-Split MNIST.",
    ]


def test_a_reduced_table_says_so_for_all_columns() -> None:
    _, *departures = protocol(folder_table("reduced"))
    everywhere = [text for text in departures if text.endswith(": all columns.")]
    assert [text.split(" (")[0] for text in everywhere] == [
        *("epochs 5", "batch size 100", "training images per class 200")
    ]


def test_what_rows_of_a_column_do_not_share_is_said() -> None:
    table = table_of([at("ewc", patience=20), at("si", patience=None), at("hat", patience=None)])
    assert inequalities(table) == [
        "Not the same for all rows: patience 20 (EWC) or none (SI, HAT): 2-Split MNIST."
    ]


def test_rows_that_share_all_but_what_is_searched_are_compared_fairly() -> None:
    space = {"training.learning_rate": {"grid": [1e-3, 1e-2]}}
    rates = [recorded({"name": row}, [], [], space=space) for row in ("ewc", "si")]
    assert inequalities(table_of(rates)) == []


@pytest.mark.parametrize(
    ("sweeps", "text"),
    [
        ([], "no test results yet"),
        ([recorded(EWC)], "3 test seeds"),
        ([recorded(EWC), recorded({"name": "si"}, tests=TESTS[:1])], "1 to 3 test seeds"),
    ],
)
def test_the_head_counts_the_test_seeds(sweeps: list[SweepHistory], text: str) -> None:
    assert seeds(table_of(sweeps)) == text


def test_the_head_counts_the_cells_that_have_results() -> None:
    *_, last = about(table_of([recorded(EWC), recorded({"name": "mine"}), at("si")]))
    assert last == (
        "Mean ± sample deviation over 3 test seeds; "
        "1 of the paper's 91 cells have test results of ours."
    )


def test_the_head_says_what_reruns_draw_by_their_seed_and_that_the_paper_did_not() -> None:
    select = {"seeds": 3, "reseed": ["split", "class_order"]}
    table = table_of([recorded({"name": "ewc"}, select=select)])
    text = " ".join(about(table))
    assert "Reruns draw split and class order by their own seed, alike in all rows" in text
    assert "class order by the seed of the rerun (paper: ascending): 2-Split MNIST." in text
    assert "Reruns draw" not in " ".join(about(table_of([at("ewc")])))
