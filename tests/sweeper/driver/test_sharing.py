"""First tasks that trials share: who waits for whom, in which order, and what it saves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver.sharing import Claims, Saving, expected_saving, spread
from sweeper.execution.assignment import AnyAssignment, TrialAssignment
from sweeper.results.records import Rerun
from tests.sweeper.driver.queues import Queue, actives, swept
from tests.sweeper.execution.assignments import trial
from tests.sweeper.studies import PlainSweep

# Who waits


def test_nobody_trains_what_somebody_else_is_training() -> None:
    claims, one = Claims(), trial(number=1)
    assert claims.is_free(["a"])
    claims.claim(one, ["a"])
    assert not claims.is_free(["b", "a"])
    assert claims.is_free(["b"])
    claims.release(one)
    assert claims.is_free(["a"])


def test_what_is_trained_is_there_for_all() -> None:
    claims, one = Claims(), trial(number=1)
    claims.claim(one, ["a"])
    claims.trained(one, 1)
    claims.claim(trial(number=2), ["a"])
    assert claims.is_free(["a"])


def test_first_tasks_are_there_seed_by_seed() -> None:
    claims, one = Claims(), trial(number=1, seeds=(0, 1, 2))
    claims.claim(one, ["a0", "a1", "a2"])
    claims.trained(one, 0)
    assert not claims.is_free(["a0"])
    claims.trained(one, 1)
    claims.trained(one, 1)  # said again
    assert claims.is_free(["a0"])
    assert not claims.is_free(["a1"])
    claims.trained(one, 3)
    assert claims.is_free(["a0", "a1", "a2"])


def shared(
    folder: Path, *sweeps: Sweep, first_task_of: Callable[[Values], str]
) -> list[PlainSweep]:
    """Sweeps whose trials share first tasks, as they say; reruns share none."""
    found = actives(folder, *sweeps)
    claims = Claims()
    for active in found:
        active.claims = claims
        active._first_tasks = lambda what: (  # type: ignore[method-assign]
            () if isinstance(what, Rerun) else (first_task_of(what),)
        )
    return found


def by_halves(values: Values) -> str:
    return "low" if values["x"] < 2 else "high"


def points(given: list[AnyAssignment]) -> list[Any]:
    return [one.values["x"] for one in given if isinstance(one, TrialAssignment)]


AFTER_ONE_TASK = {"R": "[[[0.9]]]"}


@pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")
class TestWaiting:
    def test_different_first_tasks_come_first_and_the_others_wait(self, tmp_path: Path) -> None:
        queue = Queue(*shared(tmp_path, swept("a", 4), first_task_of=by_halves))
        low, high = queue.all_now()
        assert points([low, high]) == [0, 2]
        queue.reported(low, {"R": "[]"})
        assert queue.next() is None
        queue.reported(low, AFTER_ONE_TASK)
        assert points(queue.all_now()) == [1]
        queue.reported(high, AFTER_ONE_TASK)
        assert points(queue.all_now()) == [3]

    def test_another_sweep_has_the_device_meanwhile(self, tmp_path: Path) -> None:
        sweeps = swept("a", 2), swept("b", 2)
        queue = Queue(*shared(tmp_path, *sweeps, first_task_of=lambda values: "one"))
        (first,) = queue.all_now()
        assert not queue.is_over
        queue.reported(first, AFTER_ONE_TASK)
        assert [one.sweep for one in queue.all_now()] == [0, 1, 1]

    def test_a_sweep_that_waits_for_another_does_not_end(self, tmp_path: Path) -> None:
        sweeps = swept("a", 1), swept("b", 2)
        queue = Queue(*shared(tmp_path, *sweeps, first_task_of=lambda values: "one"))
        (first,) = queue.all_now()
        assert not queue.sweeps[1].is_over
        queue.ended(first, {"failure": "diverged"})
        assert [one.sweep for one in queue.all_now()] == [1]

    @pytest.mark.parametrize("end", [{"crash": "killed"}, {"step": 1}, {"failure": "diverged"}])
    def test_what_ends_early_is_waited_for_no_longer(
        self, tmp_path: Path, end: dict[str, Any]
    ) -> None:
        queue = Queue(*shared(tmp_path, swept("a", 2), first_task_of=lambda values: "one"))
        (first,) = queue.all_now()
        queue.ended(first, end)
        assert len(queue.all_now()) == 1

    def test_a_sampler_is_not_asked_for_more_than_a_few_in_vain(self, tmp_path: Path) -> None:
        sweep = swept("a", 40, sampler="tpe", trials=30)
        (active,) = shared(tmp_path, sweep, first_task_of=lambda values: "one")
        queue = Queue(active)
        (first,) = queue.all_now()
        queue.all_now()
        queue.reported(first, AFTER_ONE_TASK)
        later = queue.all_now()
        assert len(later) == 3  # as many as have a device
        assert len({*points([first]), *points(later)}) == 4
        records = active.ledger.trial_records()
        assert len(records) == 4  # what only waits is not written

    def test_all_of_a_sweep_is_run_once_in_the_end(self, tmp_path: Path) -> None:
        sweep = swept("a", 12, sampler="random", trials=12)
        queue = Queue(*shared(tmp_path, sweep, first_task_of=by_halves))
        done: list[AnyAssignment] = []
        while given := queue.all_now():
            queue.finish(given[0])
            for other in given[1:]:
                queue.finish(other)
            done += given
        searched = [one for one in done if one.stage == "search"]
        assert sorted(points(searched)) == list(range(12))


# In which order


def test_every_first_task_comes_once_before_any_comes_twice() -> None:
    grid: list[Values] = [{"a": a, "b": b} for a in (1, 2) for b in (1, 2, 3)]
    found = [(point["a"], point["b"]) for point in spread(grid, lambda point: point["a"])]
    assert found == [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]


def test_a_large_grid_is_ordered_a_part_at_a_time() -> None:
    grid: list[Values] = [{"a": a % 2} for a in range(2500)]
    found = list(spread(iter(grid), lambda point: point["a"]))
    assert len(found) == 2500


# What it saves

RUN = {"benchmark": {"name": "digits"}, "method": {"name": "ppbi"}}
GRID = {"method.tau_0": {"grid": [1e-6, 1e-5]}, "method.tau_max": {"grid": [1e-4, 1e-3, 1e-2]}}


def sweep_of(space: dict[str, Any], **settings: Any) -> Sweep:
    return parse_sweep({"run": RUN, "space": space, "sweep": settings}, "s")


def test_a_grid_is_counted() -> None:
    found = expected_saving(sweep_of(GRID, sampler="grid"), n_tasks=2)
    assert found == Saving(n_trials=6, n_first_tasks=2, n_tasks=2, is_exact=True)
    assert found.factor == 12 / (6 + 2)
    assert found.text == "6 trials, 2 first tasks: 1.5x less"


def test_a_sampler_is_guessed() -> None:
    found = expected_saving(sweep_of(GRID, sampler="tpe", trials=4), n_tasks=5)
    assert found is not None
    assert not found.is_exact
    assert "4 trials, about 2 first tasks" in found.text


def test_methods_of_one_kind_share() -> None:
    space = {"method.name": {"choice": ["ft", "ff", "lra", "ppbi"]}}
    found = expected_saving(sweep_of(space, sampler="grid"), n_tasks=2)
    assert found is not None
    assert (found.n_trials, found.n_first_tasks) == (4, 1)


def test_a_range_of_what_the_first_task_reads_saves_nothing_and_it_is_said() -> None:
    space = {"method.tau_0": {"log_uniform": [1e-6, 1e-5]}}
    found = expected_saving(sweep_of(space, sampler="random", trials=3), n_tasks=2)
    assert found is not None
    assert found.text == "nothing: 3 trials, 3 first tasks"
    assert found.factor == 1


def test_sharing_can_be_turned_off() -> None:
    assert expected_saving(sweep_of(GRID, share_tasks=False), n_tasks=2) is None
