"""The paper's Table I for recorded sweeps: pure functions of records. Fractions, no percents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeper.config.reseeding import Drawn
from sweeper.config.sweep import Sweep
from sweeper.report.table1.paper import COLUMNS, Cell, Column, column_of, table1
from sweeper.report.table1.protocol import departures
from sweeper.report.table1.rows import Row, control_rows, paper_rows, row_of
from sweeper.results.facts import Facts, facts_of
from sweeper.results.ranking import finished
from sweeper.results.records import FINAL_STATES, RerunRecord, TrialRecord
from sweeper.results.tested import AnyTested, Measured, OrderTested


@dataclass(frozen=True)
class SweepHistory:
    """A sweep as its ledger has it.

    Args:
        folder: where it lies.
        bound_runs: runs that stand for all of its space, as they were resolved.
    """

    folder: str
    sweep: Sweep
    trials: Sequence[TrialRecord]
    tests: Sequence[RerunRecord]
    bound_runs: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class TableEntry:
    """What is known of one cell.

    Args:
        paper: as printed; None for a method that the paper does not have.
        folder: of the sweep; empty if there is none.
        acc: on the test split, over the test seeds; None as long as there is nothing.
        orders: the same on unseen class orders, which nothing of the paper is compared with.
        n_finished: finished search trials behind the choice.
        n_planned: search trials in all; None if the sweep searches several cells together.
        n_seeds: test seeds that were asked for.
        missing: what a complete cell has and this one has not; empty if nothing.
        run: of the best trial, or any of the cell before one has finished; as resolved.
        sweep: what was asked for; None if there is none.
        best: the trial that was chosen on validation data, if one has finished.
        reruns: of the best trial, finished, on the class order of the search.
        seconds: of training, of all trials and reruns of the cell.
        remark: on the choice of the sweep; empty if there was none.
    """

    row: Row
    column: Column
    paper: Cell | None
    folder: str = ""
    acc: Measured | None = None
    bwt: Measured | None = None
    orders: OrderTested | None = None
    n_finished: int = 0
    n_planned: int | None = None
    n_seeds: int = 0
    missing: str = "no sweep"
    run: Mapping[str, Any] = field(default_factory=dict)
    sweep: Sweep | None = None
    best: TrialRecord | None = None
    reruns: tuple[RerunRecord, ...] = ()
    seconds: float = 0.0
    remark: str = ""

    @property
    def searched(self) -> tuple[str, ...]:
        """Keys of the run that the sweep searches over."""
        return tuple(self.sweep.space) if self.sweep else ()

    @property
    def reseeded(self) -> tuple[Drawn, ...]:
        """What the reruns draw by their own seed."""
        return self.sweep.select.reseed if self.sweep else ()

    @property
    def departures(self) -> list[str]:
        """From the paper's protocol."""
        return departures(self.run, self.reseeded)

    @property
    def differences(self) -> tuple[float, float] | None:
        """Ours less the paper's, ACC and BWT; there is none to a number that cannot be right."""
        if not self.paper or self.paper.is_slip or not self.acc or not self.bwt:
            return None
        return self.acc.mean - self.paper.acc, self.bwt.mean - self.paper.bwt

    @property
    def paper_remark(self) -> str:
        """What is odd about the printed cell; empty if nothing is."""
        if not self.paper or not self.paper.remark:
            return ""
        kind = "slip of the paper, no difference is taken" if self.paper.is_slip else "paper"
        return f"{self.row.label}, {self.column.label} ({kind}): {self.paper.remark}"


@dataclass(frozen=True)
class Table:
    """The table: the paper's rows, below them those of other methods.

    Args:
        entries: row by row, each in the order of the columns.
        left_out: sweeps that have no cell, and why.
    """

    entries: tuple[tuple[TableEntry, ...], ...]
    left_out: tuple[str, ...] = ()

    @property
    def cells(self) -> list[TableEntry]:
        """All entries, row by row."""
        return [entry for line in self.entries for entry in line]

    @property
    def results(self) -> list[TableEntry]:
        """The entries with numbers."""
        return [entry for entry in self.cells if entry.acc]

    @property
    def notes(self) -> list[str]:
        """Footnotes, each once; their places here are their numbers."""
        found = [text for e in self.cells for text in (e.remark, e.paper_remark) if text]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class _Attempt:
    """What one sweep has done for one cell.

    Args:
        run: of its best trial; before one has finished, any that belongs to the cell.
    """

    history: SweepHistory
    run: Mapping[str, Any]
    facts: Facts
    tests: Sequence[RerunRecord]
    is_alone: bool

    @property
    def reruns(self) -> list[RerunRecord]:
        """Those of the best trial that finished on the class order of the search."""
        best = self.facts.best
        return [
            one
            for one in finished(self.tests)
            if best and one.rerun.configuration == best.number and one.rerun.class_order is None
        ]


def table_of(sweeps: Sequence[SweepHistory], left_out: Sequence[str] = ()) -> Table:
    """Find the cells of all sweeps; a pure function."""
    attempts: dict[tuple[Row, Column], list[_Attempt]] = {}
    homeless: dict[str, list[str]] = {}
    for history in sweeps:
        for row, column, attempt in _attempts(history):
            if column:
                attempts.setdefault((row, column), []).append(attempt)
            else:
                homeless.setdefault(history.folder, []).append(row.label)
    elsewhere = [f"{n}: {', '.join(rows)} on another benchmark" for n, rows in homeless.items()]
    known = [row for row, _ in attempts]
    controls = [row for row in control_rows() if row in known]
    rows = list(dict.fromkeys([*paper_rows(), *controls, *sorted(known)]))
    return Table(
        tuple(tuple(_entry(r, c, attempts.get((r, c), ())) for c in COLUMNS) for r in rows),
        (*left_out, *elsewhere),
    )


# The cells of a sweep


def _attempts(history: SweepHistory) -> Iterator[tuple[Row, Column | None, _Attempt]]:
    """What a sweep has done, split by cell where it searches over methods or measures."""
    runs = {_place(run): run for run in history.bound_runs}
    groups: dict[tuple[Row, Column | None], list[TrialRecord]] = {place: [] for place in runs}
    for trial in history.trials:
        if trial.run:
            n_tasks = len(trial.R[0]) if trial.R else None
            place = _place(trial.run, n_tasks)
            runs.setdefault(place, trial.run)
            groups.setdefault(place, []).append(trial)
    for (row, column), trials in groups.items():
        numbers = {trial.number for trial in trials}
        tests = [t for t in history.tests if t.rerun.configuration in numbers]
        facts = facts_of(history.sweep, trials, tests)
        run = facts.best.run if facts.best else runs[row, column]
        yield row, column, _Attempt(history, run, facts, tests, len(groups) == 1)


def _place(run: Mapping[str, Any], n_tasks: int | None = None) -> tuple[Row, Column | None]:
    return row_of(run["method"]), column_of(run, n_tasks or _n_tasks(run))


def _n_tasks(run: Mapping[str, Any]) -> int:
    """The number of tasks of a run without results: as it says, or as in the paper's benchmark."""
    benchmark = run["benchmark"]
    if sets := benchmark.get("sets"):
        return len(sets)
    columns = [c.n_tasks for c in COLUMNS if c.benchmark == benchmark["name"]]
    return int(benchmark.get("n_tasks", max(columns, default=0)))


# The entry of a cell


def _entry(row: Row, column: Column, attempts: Sequence[_Attempt]) -> TableEntry:
    paper = next((c for c in table1() if _is_at(c, row, column)), None)
    if not attempts:
        return TableEntry(row, column, paper)
    first = max(attempts, key=_weight)
    sweep, test = first.facts.sweep, first.facts.best_test
    return TableEntry(
        row=row,
        column=column,
        paper=paper,
        folder=first.history.folder,
        acc=test.acc if test else None,
        bwt=test.bwt if test else None,
        orders=first.facts.best_order_test,
        n_finished=len(first.facts.ranked),
        n_planned=sweep.n_trials if first.is_alone else None,
        n_seeds=sweep.select.seeds,
        missing=_missing(first),
        run=first.run,
        sweep=sweep,
        best=first.facts.best,
        reruns=tuple(first.reruns),
        seconds=sum(record.seconds for record in (*first.facts.trials, *first.tests)),
        remark=_remark(row, column, first, attempts),
    )


def _is_at(cell: Cell, row: Row, column: Column) -> bool:
    return (cell.row, cell.method, cell.measure) == row and (
        (cell.benchmark, cell.n_tasks) == column[1:]
    )


def _weight(attempt: _Attempt) -> tuple[int, int]:
    test = attempt.facts.best_test
    return len(attempt.facts.ranked), test.acc.n if test else 0


def _remark(row: Row, column: Column, first: _Attempt, attempts: Sequence[_Attempt]) -> str:
    if len(attempts) == 1:
        return ""
    others = ", ".join(a.history.folder for a in attempts if a is not first)
    return (
        f"{row.label}, {column.label}: from {first.history.folder}, which has the most finished "
        f"trials ({len(first.facts.ranked)}); not shown: {others}"
    )


def _missing(attempt: _Attempt) -> str:
    """What is to be done before the cell is complete."""
    facts, asked = attempt.facts, attempt.facts.sweep.select
    if facts.best_test:
        seeds = _part_of(facts.best_test, asked.seeds, "reruns")
        orders = _part_of(facts.best_order_test, asked.class_orders, "class orders")
        return ", ".join(filter(None, [seeds, orders]))
    n_over = sum(facts.counts.get(state, 0) for state in FINAL_STATES)
    if not attempt.tests and _is_searching(attempt.history):
        of = f" of {facts.sweep.n_trials}" if attempt.is_alone else ""
        return f"search: {n_over}{of} trials"
    if not facts.ranked:
        n_failed = facts.counts.get("failed", 0)
        return f"no finished trial ({n_failed} failed)" if n_failed else "no finished trial"
    return "no finished rerun" if asked.top else "no rerun asked for (select.top: 0)"


def _part_of(found: AnyTested | None, n_asked: int, noun: str) -> str:
    """How much there is of what was asked for; empty if it is all there."""
    n_done, n_failed = (found.acc.n, found.n_failed) if found else (0, 0)
    failed = f", {n_failed} failed" if n_failed else ""
    return f"{n_done} of {n_asked} {noun}{failed}" if n_done < n_asked else ""


def _is_searching(history: SweepHistory) -> bool:
    """Whether trials are to come; those of a sweep that has gone on to its reruns are not."""
    n_over = sum(trial.state in FINAL_STATES for trial in history.trials)
    return n_over < history.sweep.n_trials and not history.tests
