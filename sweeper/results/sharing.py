"""Which first task fed which trials, and what that has saved: pure functions of records."""

from collections.abc import Sequence
from dataclasses import dataclass

from sweeper.results.records import Record
from sweeper.results.texts import counted, duration


@dataclass(frozen=True)
class Branch:
    """A first task and what started from it.

    Args:
        name: of the first task.
        numbers: of the trials, that which trained it first.
        seconds: that training it took.
        n_trained: how often it was trained; more than once only if it was lost.
    """

    name: str
    numbers: tuple[int, ...]
    seconds: float
    n_trained: int


def branches(records: Sequence[Record]) -> list[Branch]:
    """The first tasks of all seeds, those that fed most trials first."""
    found: dict[str, list[tuple[bool, int, float]]] = {}
    for record in records:
        for one in record.first_tasks:
            entry = bool(one["is_taken"]), record.number, float(one["seconds"])
            found.setdefault(one["name"], []).append(entry)
    every = [_branch(name, entries) for name, entries in found.items()]
    return sorted(every, key=lambda branch: (-len(branch.numbers), branch.numbers[:1]))


def _branch(name: str, entries: Sequence[tuple[bool, int, float]]) -> Branch:
    numbers = tuple(number for _, number, _ in sorted(entries))
    n_trained = sum(not is_taken for is_taken, _, _ in entries)
    return Branch(name, numbers, entries[0][2], n_trained)


def saved_text(records: Sequence[Record]) -> str:
    """What sharing has saved, in a sentence; empty where nothing was shared."""
    shared = [record for record in records if record.first_tasks]
    saved = sum(record.seconds_saved for record in shared)
    if not saved:
        return ""
    n_taken = sum(one["is_taken"] for record in shared for one in record.first_tasks)
    spent = sum(record.seconds for record in shared)
    n_first = counted(len({one["name"] for r in shared for one in r.first_tasks}), "first task")
    return (
        f"{n_first} fed {counted(len(shared), 'trial')}: taken over {_times(n_taken)}, which "
        f"saved {duration(saved)} of training ({(spent + saved) / max(spent, 1e-9):.1f}x less)"
    )


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
