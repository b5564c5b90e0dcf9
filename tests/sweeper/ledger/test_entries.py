"""From Optuna's trials to records: by what they are known, and what counts."""

from pathlib import Path

import pytest

from sweeper.ledger import Ledger, key_of, key_of_rerun
from sweeper.results.records import Rerun
from tests.sweeper.ledgers import opened, start, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def test_a_key_depends_on_values_and_not_on_their_order() -> None:
    assert key_of({"a": 1, "b": "x"}) == key_of({"b": "x", "a": 1}) != key_of({"a": 2, "b": "x"})


def test_a_key_is_the_same_on_every_machine() -> None:
    assert key_of({"a": 1}) == "f9d86028c6e0"


def test_a_rerun_on_the_tuned_order_is_known_by_two_numbers() -> None:
    assert key_of_rerun(Rerun(3, 7)) == key_of({"configuration": 3, "seed": 7})
    assert key_of_rerun(Rerun(3, 7, 1)) != key_of_rerun(Rerun(3, 7))


def test_a_reason_means_nothing_before_the_end(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept())
    number, _ = start(stage)
    stage._set(number, "reason", "its driver died between the two lines")
    assert stage.record(number).reason is None
    stage.fail(number, "diverged")
    assert [record.reason for record in Ledger(tmp_path).trial_records()] == ["diverged"]
