"""How a trial is compared, and why it failed; without a Ray of its own."""

from pathlib import Path

import pytest
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, MedianStoppingRule

from sweeper.config.sweep import parse_sweep
from sweeper.driver.cluster import Share
from sweeper.driver.dispatch import _reason, _scheduler_of
from tests.sweeper.studies import N_STEPS, PlainSweep, plain_sweep


def sweep_with(scheduler: str, folder: Path) -> PlainSweep:
    blocks = {"run": {}, "space": {}, "sweep": {"scheduler": scheduler}}
    return plain_sweep(parse_sweep(blocks, "s"), folder, Share(1, 0, 1))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("none", FIFOScheduler),
        ("asha", ASHAScheduler),
        ("median", MedianStoppingRule),
        ("bound", FIFOScheduler),
    ],
)
@pytest.mark.parametrize("n_steps", [1, 4, 1000])
def test_every_scheduler_can_be_made_for_any_number_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: type, n_steps: int
) -> None:
    monkeypatch.setattr(PlainSweep, "n_steps", n_steps)
    assert type(_scheduler_of(sweep_with(name, tmp_path))) is kind


def test_trials_are_compared_at_the_same_step_and_not_at_their_last(tmp_path: Path) -> None:
    scheduler = _scheduler_of(sweep_with("asha", tmp_path))
    assert isinstance(scheduler, ASHAScheduler)
    assert (scheduler._time_attr, scheduler._max_t) == ("step", N_STEPS + 1)


TRACEBACK = """Failure # 1 (occurred at 2026-01-01_00-00-00)
ray::ImplicitFunc.train() (pid=1)
  File "first.py", line 1, in run
    raise KeyError("first")
KeyError: 'first'
Failure # 2 (occurred at 2026-01-01_00-00-01)
ray::ImplicitFunc.train() (pid=2)
  File "second.py", line 1, in run
    raise RuntimeError("[enforce fail] out of memory")
RuntimeError: [enforce fail] out of memory
"""
DIED = """Failure # 1 (occurred at 2026-01-01_00-00-00)
The actor died unexpectedly before finishing this task.
\tclass_name: ImplicitFunc
\tactor_id: 1234
The actor never ran - it was cancelled before it started running.
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRACEBACK, "RuntimeError: [enforce fail] out of memory"),
        (DIED, "The actor died unexpectedly before finishing this task."),
        ("Failure # 1 (occurred at 2026-01-01_00-00-00)\n", "the worker died"),
        ("", "the worker died"),
        (None, "the worker died"),
    ],
)
def test_the_reason_is_the_line_that_says_what_happened_last(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    if text is not None:
        (tmp_path / "error.txt").write_text(text)
    assert _reason(tmp_path / "error.txt") == reason
