"""A sampler's own study: it knows what the journal says, and the journal nothing of its drafts."""

from pathlib import Path
from typing import Any

import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from sweeper.config.space import SearchSpace
from sweeper.config.space_reading import parse_space
from sweeper.ledger.adviser import Adviser
from sweeper.ledger.samplers import build_sampler, distributions
from tests.sweeper.ledgers import finish_all, opened, outcome, start, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

TAUS = [1e-2, 1e-4, 1e-6, 1e-8]
ONE_GRID: dict[str, Any] = {"tau": {"grid": TAUS}}
TWO_GRIDS: dict[str, Any] = {path: {"grid": list(range(12))} for path in "ab"}


def space_of(raw: dict[str, Any]) -> SearchSpace:
    return parse_space(raw, "space", [])


def journalled(number: int, tau: float, state: TrialState, **about: Any) -> FrozenTrial:
    """A trial as the journal gives it."""
    values = {"tau": tau}
    known = distributions(space_of(ONE_GRID), values)
    trial = create_trial(state=state, params=values, distributions=known, **about)
    trial.number = number
    return trial


def adviser(name: Any = "random") -> Adviser:
    space = space_of(ONE_GRID)
    return Adviser(build_sampler(name, space, 0), space, 1)


def told(one: Adviser) -> list[tuple[dict[str, Any], TrialState, list[float] | None]]:
    return [(trial.params, trial.state, trial.values) for trial in one._study.trials]


def test_a_sampler_knows_places_where_the_journal_has_values() -> None:
    one = adviser()
    one.take_up(journalled(5, 1e-6, TrialState.COMPLETE, value=0.5))
    assert told(one) == [({"tau": 1}, TrialState.COMPLETE, [0.5])]


def test_what_becomes_of_a_trial_is_told_under_its_number_in_the_journal() -> None:
    one = adviser()
    one.take_up(journalled(7, 1e-6, TrialState.RUNNING))
    draw = one.draw()
    one.accept(draw, 9)
    one.tell(journalled(9, draw.values["tau"], TrialState.COMPLETE, value=0.25))
    one.tell(journalled(7, 1e-6, TrialState.FAIL))
    states = [(state, values) for _, state, values in told(one)]
    assert states == [(TrialState.FAIL, None), (TrialState.COMPLETE, [0.25])]


@pytest.mark.parametrize(
    ("attributes", "state", "values"),
    [({"at_most": 0.6}, TrialState.COMPLETE, [0.6]), ({}, TrialState.PRUNED, None)],
    ids=["with a bound", "without"],
)
@pytest.mark.parametrize("is_resumed", [True, False])
def test_a_stopped_trial_is_what_it_could_have_become_at_most(
    attributes: dict[str, float], state: TrialState, values: Any, is_resumed: bool
) -> None:
    one = adviser()
    stopped = journalled(0, 1e-2, TrialState.PRUNED, user_attrs=attributes)
    if is_resumed:
        one.take_up(stopped)
    else:
        one.take_up(journalled(0, 1e-2, TrialState.RUNNING))
        one.tell(stopped)
    assert told(one) == [({"tau": 3}, state, values)]


def test_what_nobody_runs_is_not_running() -> None:
    one = adviser()
    one.reject(one.draw())
    one.take_up(journalled(3, 1e-2, TrialState.RUNNING))
    one.forget(3)
    one.forget(4)
    assert [state for _, state, _ in told(one)] == [TrialState.FAIL] * 2


def test_what_a_sampler_draws_twice_is_no_trial_of_the_journal(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(ONE_GRID, sampler="random"))
    finish_all(stage)
    assert len(stage.study.trials) == len(TAUS)


@pytest.mark.parametrize(("sampler", "note"), [("cmaes", "generation"), ("nsga2", "generation")])
def test_a_sampler_with_generations_goes_on_with_them_after_a_restart(
    tmp_path: Path, sampler: str, note: str
) -> None:
    stage = opened(tmp_path, swept(TWO_GRIDS, sampler=sampler, trials=70))
    for _ in range(60):
        number, values = start(stage)
        stage.finish(number, outcome(0.5 + (values["a"] - values["b"]) / 100))
    again = opened(tmp_path, swept(TWO_GRIDS, sampler=sampler, trials=70))
    (generation,) = (n for key, n in again._adviser.draw().notes.items() if key.endswith(note))
    assert generation > 0
