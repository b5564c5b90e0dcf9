"""What sharing first tasks has saved: a pure function of records."""

from collections.abc import Sequence

from sweeper.results.records import Record
from sweeper.results.texts import counted, duration


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
