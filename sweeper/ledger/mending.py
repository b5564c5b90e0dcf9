"""What a damaged journal still says: whole lines are used, and what the others held is named."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sweeper.ledger.entries import OUTCOME, RUN, VOID

Log = dict[str, Any]

# Optuna's operations, as far as they are told apart here, and one of its states.
_NEW_STUDY, _STUDY_ATTR, NEW_TRIAL, _END, _STEP, _ATTR = 0, 2, 4, 6, 7, 8
_COMPLETE, _MAXIMIZE = 1, 2
OF_OPEN_TRIALS = frozenset({NEW_TRIAL, _STEP, _ATTR})  # that have begun and not ended

PLACE = "place"  # of a new trial: its id and its number, by which a lost one before it is known
_CHECK = re.compile(rb',"crc":"([0-9a-f]{8})"}\n$')
# Numbers that are most of a ledger.
_CURVES = re.compile(rb'"user_attr":\{"outcome":\{.*?"curves":(\[[^"]*\])')


class UnreadCurves(Sequence[Any]):
    """Learning curves that are read when someone looks at them, which few do."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def __len__(self) -> int:
        return len(json.loads(self._text))

    def __iter__(self) -> Iterator[Any]:
        return iter(json.loads(self._text))

    def __getitem__(self, place: Any) -> Any:
        return json.loads(self._text)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list


def line_of(log: Log) -> bytes:
    """A log in a line that says whether it is whole, in a key that Optuna does not look at."""
    text = json.dumps(log, separators=(",", ":"), default=list).encode()
    return b'%s,"crc":"%08x"}\n' % (text[:-1], zlib.crc32(text))


def log_of(line: bytes) -> Log | None:
    """The log in a line; None if it is damaged. Lines from before there were checks have none."""
    if check := _CHECK.search(line):
        line = line[: check.start()] + b"}"
        if zlib.crc32(line) != int(check[1], 16):
            return None
    curves = _CURVES.search(line) if check else None  # only what is known to be whole
    if curves:
        line = line[: curves.start(1)] + b"null" + line[curves.end(1) :]
    try:
        log = json.loads(line.decode())
    except ValueError:
        return None
    if curves:
        log["user_attr"][OUTCOME]["curves"] = UnreadCurves(curves[1])
    return log if isinstance(log, dict) else None


def is_gap_before(log: Log, n_trials: Counter[int]) -> bool:
    """Whether trials must have begun before this line that are not there, by study."""
    may_be = PLACE in log or log.get("trial_id", -1) >= n_trials[0]  # most lines are of the search
    return may_be and bool(_lost_before(log, n_trials, log.get("study_id", 0)))


def mended(lines: Sequence[bytes]) -> tuple[list[Log], list[str]]:
    """The logs of whole lines, such that trials keep their numbers, and what is lost.

    A finished trial whose outcome or run is lost is no longer finished: it is run again.
    """
    logs, lost = [log_of(line) for line in lines], list[str]()
    whole = [log for log in logs if log is not None and "op_code" in log]
    filled = list(_filled(whole))
    names = _names(filled)
    for number, (line, log) in enumerate(zip(lines, logs, strict=True), 1):
        if log is None:
            lost.append(f"line {number} is damaged: it held {_content(line, names)}")
    trials = [log for log in filled if log["op_code"] == NEW_TRIAL]
    gaps = [name for name, log in zip(names, trials, strict=True) if not log["worker_id"]]
    lost += [f"{name} has lost its beginning: it is left out and run anew" for name in gaps]
    again = _without_outcome(filled)
    lost += [f"{names[trial]} has lost its outcome: it is run again" for trial in sorted(again)]
    return [log for log in filled if not _is_end_of(log, again)], lost


def _filled(whole: Sequence[Log]) -> Iterator[Log]:
    """Put something in the place of studies and trials that are lost, since Optuna counts them."""
    n_trials, n_studies, study = Counter[int](), 0, 0
    n_objectives = max((len(log.get("values") or [0]) for log in whole), default=1)
    for log in whole:
        study = log.get("study_id", study)
        while n_studies <= study and log["op_code"] != _NEW_STUDY:
            yield _stand_in_study(n_studies, n_objectives)
            n_studies += 1
        for lost in _lost_before(log, n_trials, study):
            yield _stand_in(lost)
            n_trials[lost] += 1
        yield log
        n_studies += log["op_code"] == _NEW_STUDY
        n_trials[study] += log["op_code"] == NEW_TRIAL


def _lost_before(log: Log, n_trials: Counter[int], study: int) -> list[int]:
    """The studies of trials that must have begun before this line."""
    if PLACE in log:
        trial, number = log[PLACE]
        n_own = max(0, number - n_trials[study])
        n_others = max(0, trial - n_trials.total() - n_own)
        return [study] * n_own + [1 - study] * n_others
    return [study] * max(0, log.get("trial_id", -1) + 1 - n_trials.total())


def _stand_in(study: int) -> Log:
    note = {"study_id": study, "datetime_start": None, "user_attrs": {VOID: True}}
    return {"op_code": NEW_TRIAL, "worker_id": "", **note}


def _stand_in_study(place: int, n_objectives: int) -> Log:
    directions = [_MAXIMIZE] * (1 if place else n_objectives)
    note = {"study_name": ("search", "test")[place], "directions": directions}
    return {"op_code": _NEW_STUDY, "worker_id": "", **note}


def _names(logs: Sequence[Log]) -> list[str]:
    """What a person calls the trials, by their ids."""
    n_before, names = Counter[int](), list[str]()
    for log in logs:
        if log["op_code"] == NEW_TRIAL:
            study = log["study_id"]
            names.append(f"{'rerun' if study else 'trial'} {n_before[study]}")
            n_before[study] += 1
    return names


def _without_outcome(logs: Sequence[Log]) -> set[int]:
    """The finished trials that lack what a finished one must have."""
    known: dict[str, set[int]] = {OUTCOME: set(), RUN: set()}
    for log in logs:
        for name in known.keys() & log.get("user_attr", {}).keys():
            known[name].add(log.get("trial_id", -1))
    done = {log["trial_id"] for log in logs if log["op_code"] == _END and _is_complete(log)}
    has_all = known[OUTCOME] & known[RUN] if known[RUN] else known[OUTCOME]
    return done - has_all


def _is_complete(log: Log) -> bool:
    return bool(log.get("state") == _COMPLETE)


def _is_end_of(log: Log, trials: set[int]) -> bool:
    is_end = log["op_code"] == _END or OUTCOME in log.get("user_attr", {})
    return is_end and log.get("trial_id") in trials


def _content(line: bytes, names: Sequence[str]) -> str:
    """What can still be told of a damaged line."""
    operation = re.search(rb'"op_code":(\d+)', line)
    trial = re.search(rb'"trial_id":(\d+)', line)
    attribute = re.search(rb'"user_attr":\{"(\w+)"', line)
    whose = f" of {names[int(trial[1])]}" if trial and int(trial[1]) < len(names) else ""
    what = {
        _NEW_STUDY: "the beginning of the search or of the reruns",
        _STUDY_ATTR: "a setting of the sweep",
        NEW_TRIAL: "the beginning of a trial",
        _END: f"the end{whose}",
        _STEP: f"an accuracy{whose}",
        _ATTR: f"the {attribute[1].decode() if attribute else 'facts'}{whose}",
    }
    return what.get(int(operation[1]) if operation else -1, "something that cannot be told")
