"""What the journal knows of an Optuna trial, as the records that the rest of the service takes."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from sweeper.config.space import Values
from sweeper.results.records import Rerun, RerunRecord, State, TrialRecord

# User attributes of a trial.
ATTEMPT, CRASHES, RUN, OUTCOME, REASON = "attempt", "crashes", "run", "outcome", "reason"
VOID, WARM_START = "void", "warm_start"
SHOWN, AT_MOST = "shown", "at_most"  # of a trial that was stopped: R so far, and what it bounds

# A system attribute of a trial: what its sampler keeps with it.
SAMPLER = "sampler"

_STATES: dict[TrialState, State] = {
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "finished",
    TrialState.PRUNED: "stopped",
    TrialState.FAIL: "failed",
}


def key_of(values: Mapping[str, Any]) -> str:
    """A short name for a configuration, the same on every machine."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def key_of_rerun(rerun: Rerun) -> str:
    """A short name for a rerun, the same on every machine."""
    return key_of(rerun.fields)


def is_own(trial: FrozenTrial) -> bool:
    """Whether it belongs to this sweep: neither another's nor a point that was given back."""
    is_queued = trial.state is TrialState.WAITING
    return not is_queued and not ({VOID, WARM_START} & trial.user_attrs.keys())


def values_of(trial: FrozenTrial) -> Values:
    """The values that a trial was given."""
    return dict(trial.params)


def rerun_of(trial: FrozenTrial) -> Rerun:
    """The rerun that a trial of the second stage stands for."""
    return Rerun(**trial.params)


def trial_record(trial: FrozenTrial) -> TrialRecord:
    """What is known of a trial of the search."""
    values = values_of(trial)
    return TrialRecord(key=key_of(values), values=values, **_common(trial))


def rerun_record(trial: FrozenTrial) -> RerunRecord:
    """What is known of a rerun."""
    rerun = rerun_of(trial)
    return RerunRecord(key=key_of_rerun(rerun), rerun=rerun, **_common(trial))


def _common(trial: FrozenTrial) -> dict[str, Any]:
    outcome = trial.user_attrs.get(OUTCOME, {})
    listed = ("seeds", "R", "data_sets", "selectivity", "first_tasks")
    # Written before the end, and without a meaning if its driver died between the two.
    has_reason = trial.state in (TrialState.FAIL, TrialState.PRUNED)
    return {
        "number": trial.number,
        "state": _STATES[trial.state],
        "run": trial.user_attrs.get(RUN, {}),
        "metrics": outcome.get("metrics", {}),
        "versions": outcome.get("versions", {}),
        "seconds": outcome.get("seconds", 0.0),
        "reason": trial.user_attrs.get(REASON) if has_reason else None,
        "shown": tuple(trial.user_attrs.get(SHOWN, ())) if has_reason else (),
        "curves": outcome.get("curves", ()),
        **{name: tuple(outcome.get(name, ())) for name in listed},
    }
