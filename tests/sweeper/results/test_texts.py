"""Commands, values and differences as they are printed."""

import pytest

from sweeper.results.comparison import Difference
from sweeper.results.texts import (
    by_chance,
    difference,
    group_name,
    in_line,
    shell_command,
    short_difference,
)


def test_a_printed_command_begins_with_the_script_that_we_were_called_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MPNET_RUN", raising=False)
    assert shell_command("mlflow", "ui", "a b") == "mlflow ui 'a b'"
    monkeypatch.setenv("MPNET_RUN", "./run")
    assert shell_command("mlflow", "ui", "a b") == "./run mlflow ui 'a b'"


def test_values_are_shown_by_the_last_parts_of_their_paths() -> None:
    values = {"method.name": "lra", "method.tau_0": 1.23456e-5, "layers.rho": -12, "x": None}
    assert in_line(values) == "method=lra  tau_0=1.235e-05  rho=-12  x=None"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Difference(0.0123, 0.002, 5), "+1.23 [+1.03, +1.43] *"),
        (Difference(-0.0123, 0.002, 5), "-1.23 [-1.43, -1.03] *"),
        (Difference(0.001, 0.002, 5), "+0.10 [-0.10, +0.30]"),
        (Difference(0.0123, None, 1), "+1.23"),
    ],
)
def test_a_difference_has_a_star_if_its_interval_is_clear_of_zero(
    value: Difference, text: str
) -> None:
    assert difference(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Difference(0.0123, 0.002, 5), "+1.23 ± 0.20 *"),
        (Difference(0.001, 0.002, 5), "+0.10 ± 0.20"),
        (Difference(0.0123, None, 1), "+1.23"),
    ],
)
def test_a_short_difference_has_half_of_its_interval(value: Difference, text: str) -> None:
    assert short_difference(value) == text


def test_many_intervals_come_with_a_warning() -> None:
    assert by_chance(60) == ("60 intervals of 95%: about 3 would be clear of zero by chance alone")


def test_a_group_is_named_by_its_texts_and_other_values_with_their_names() -> None:
    group = (("method.name", "lra"), ("layers.rho", -12), ("layers.is_noisy", True))
    assert group_name(group) == "lra rho=-12 is_noisy=true"
    assert group_name(()) == "all others"
