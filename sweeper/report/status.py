"""How sweeps are doing, on a terminal: what their ledgers know, and what their drivers say."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweeper.ledger import JOURNAL, Ledger, open_ledger
from sweeper.ledger.live import Live, RunningTrial, read_live
from sweeper.report.terminal import headline, print_lines, running_heads, show_outcome
from sweeper.results.facts import Facts
from sweeper.results.records import FINAL_STATES
from sweeper.results.texts import NOTHING, counted, duration, percent

_MOST_FAILURES = 5


def sweeps_below(root: Path) -> list[Path]:
    """The folders of all sweeps in a folder and below it."""
    return sorted(journal.parent for journal in root.rglob(JOURNAL))


def show_status(console: Console, folder: Path) -> None:
    """Print how one sweep is doing: what runs, what failed, what came of it, where to look."""
    ledger, live = open_ledger(folder), read_live(folder)
    facts = ledger.facts()
    print_lines(console, [f"{facts.sweep.name}: {_state(ledger, live)}"])
    if live and live.running and live.is_fresh:
        print_lines(console, list(_running_lines(live.running)))
    for line in _failures(facts):
        console.print(line, soft_wrap=True)
    show_outcome(console, facts)
    print_lines(console, live.places if live else ledger.places)


def status_line(ledger: Ledger) -> str:
    """How one of many sweeps is doing, in a line."""
    facts, state = ledger.facts(), _short_state(ledger, read_live(ledger.folder))
    done = f", {_n_over(facts)} of {facts.sweep.n_trials} trials done"
    return f"[{state}{'' if state == 'finished' else done}] {headline(facts)}"


def list_table(root: Path) -> Table:
    """All sweeps below a folder, a row each."""
    table = Table()
    for name in ("sweep", "state"):
        table.add_column(name, overflow="fold")
    for name in ("trials", "failed", "best ACC", "last change"):
        table.add_column(name, justify="right")
    for folder in sweeps_below(root):
        ledger = Ledger(folder)
        if ledger.has_begun:
            name = folder.relative_to(root).as_posix()
            table.add_row(Text(folder.name if name == "." else name), *_cells(ledger))
    return table


def _cells(ledger: Ledger) -> Iterator[str]:
    facts, live = ledger.facts(), read_live(ledger.folder)
    yield _short_state(ledger, live)
    yield f"{_n_over(facts)}/{facts.sweep.n_trials}"
    yield str(facts.counts.get("failed", 0) or "")
    yield percent(facts.best.metrics["acc"]) if facts.best else NOTHING
    yield f"{duration(time.time() - (ledger.folder / JOURNAL).stat().st_mtime)} ago"


def _n_over(facts: Facts) -> int:
    return sum(facts.counts.get(state, 0) for state in FINAL_STATES)


def _short_state(ledger: Ledger, live: Live | None) -> str:
    if live:
        return live.state if live.is_fresh else "silent"
    return "finished" if ledger.places else "stopped"


def _state(ledger: Ledger, live: Live | None) -> str:
    """What is being done about it, in words."""
    state = _short_state(ledger, live)
    if live is None:
        return state if ledger.places else "nobody works on it; --resume goes on"
    if not live.is_fresh:
        text = f"no sign of life from its driver ({live.driver}) for {duration(live.age)}"
        return f"{text}; if it is dead, --resume goes on"
    left = "" if live.seconds_left is None else f", about {duration(live.seconds_left)} left"
    if not live.n_wanted:
        return f"{state} ({live.driver}), its report is being written"
    return f"{state} ({live.driver}), {live.stage} {live.n_over}/{live.n_wanted} done{left}"


def _running_lines(running: Sequence[RunningTrial]) -> Iterator[str]:
    """Trials at work, two lines each, so that they can be read at any width."""
    yield f"{counted(len(running), 'trial')} at work:"
    for trial, head in zip(running, running_heads(running), strict=True):
        heard = f"heard of {duration(max(0.0, time.time() - trial.heard))} ago"
        yield head.rstrip()
        yield f"    {'  '.join(filter(None, [trial.where, heard, trial.settings]))}"


def _failures(facts: Facts) -> Iterator[Text]:
    """Why trials failed, the same reason once."""
    for failure in facts.failures[:_MOST_FAILURES]:
        which = f"trial {', '.join(map(str, failure.numbers))}" if failure.numbers else "reruns"
        yield Text(f"{which} failed: {failure.reason.strip()}", style="red")
    if len(facts.failures) > _MOST_FAILURES:
        yield Text(f"and {len(facts.failures) - _MOST_FAILURES} more reasons", style="red")
