"""Numbers, names, values, commands and differences as they are printed."""

import pytest

from sweeper.results.comparison import Difference
from sweeper.results.texts import (
    by_chance,
    counted,
    difference,
    duration,
    group_name,
    in_line,
    percent,
    run_commands,
    shell_command,
    short_difference,
    short_names,
)
from tests.sweeper.records import finished


@pytest.mark.parametrize(
    ("value", "is_signed", "text"),
    [(0.9923, False, "99.23%"), (-0.0016, True, "-0.16%"), (0.0002, True, "+0.02%")]
    + [(-0.000001, True, "0.00%"), (None, True, "–")],
)
def test_fractions_read_as_percentages(value: float | None, is_signed: bool, text: str) -> None:
    assert percent(value, is_signed) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (7200, "2 h"), (90061, "1 d 1 h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_names_are_short_where_that_is_clear() -> None:
    paths = ["method.name", "method.tau_0", "layers.rho", "a.size", "b.size"]
    assert list(short_names(paths).values()) == ["method", "tau_0", "rho", "a.size", "b.size"]


def test_a_command_can_be_pasted_into_a_shell() -> None:
    trial = finished(0, 0.9, 0.0, values={"method.tau_0": 1e-05, "method.measure": "a b"})
    [command] = run_commands("x.yaml", trial, ())
    expected = "python -m mpnet x.yaml method.tau_0=1.0e-05 'method.measure=a b' --seed 0"
    assert command == expected


def test_the_first_rerun_of_each_kind_has_a_command() -> None:
    trial = finished(0, 0.9, 0.0, values={})
    _, *again = run_commands("x.yaml", trial, (5, 6), {2: 5, 3: 6})
    assert again == [
        "python -m mpnet x.yaml --split test --seed 5",
        "python -m mpnet x.yaml benchmark.class_order=2 --split test --seed 5",
    ]


def test_the_command_of_a_rerun_draws_what_the_rerun_drew() -> None:
    trial = finished(0, 0.9, 0.0, values={})
    _, again = run_commands("x.yaml", trial, (5, 6), reseed=("split", "permutation"))
    drawn = "benchmark.split_seed=5 benchmark.permutation_seed=5000"
    assert again.endswith(f"x.yaml {drawn} --split test --seed 5")


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


@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "1 GPU"), (2, "2 GPUs"), (0, "0 GPUs"), (0.5, "0.5 GPUs"), (1234567, "1234567 GPUs")],
)
def test_a_count_goes_with_its_noun(n: float, text: str) -> None:
    assert counted(n, "GPU") == text
