"""Several sweeps as one: one plan, one after the other, resumed as a whole."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import track

from sweeper import cluster
from sweeper.errors import INTERRUPTED, SweepError
from sweeper.facts import facts_of
from sweeper.ledger import has_begun, open_ledger
from sweeper.preflight import Options, Ready, check_folder, only_driver, plan_of, ready
from sweeper.start import is_finished
from sweeper.study import OVER
from sweeper.sweep import Sweep
from sweeper.view import headline, print_lines, queue_table

_SECONDS_TO_MEASURE = 0.2  # of each sweep: a table has dozens


def launch_all(
    sweeps: Sequence[Sweep], options: Options, console: Console, is_table: bool = False
) -> int:
    """Check all, plan all, then run what is not finished; gives the exit code.

    Args:
        sweeps: in this order.
        options: for all of them.
        console: for what is seen of it.
        is_table: show the paper's table at the end.

    Raises:
        SweepError: before anything has started, with the faults of all.
    """
    with only_driver(options.folder):
        parts = [(sweep, _part_of(options, sweep)) for sweep in sweeps]
        _check_begun(parts, options)
        left = [part for part in parts if not is_finished(part[0], part[1].folder)]
        prepared = _all_ready(left, console)
        if prepared:
            _show_plan(prepared, len(parts) - len(left), console)
        if options.plan_only:
            return 0
        code = _run(prepared, console) if prepared else _nothing_left(console)
        if is_table and code != INTERRUPTED:
            from sweeper.report import table1  # seconds: not at the start

            table1.write(options.folder, console)
        return code


def show_status(sweeps: Sequence[Sweep], options: Options, console: Console) -> int:
    """A line for each sweep."""
    for sweep in sweeps:
        folder = options.folder / sweep.name
        print_lines(console, [_status(sweep, folder)])
    return 0


def _status(sweep: Sweep, folder: Path) -> str:
    if not has_begun(folder):
        return f"{sweep.name}: not begun"
    ledger = open_ledger(folder)
    trials, tests = ledger.records(), ledger.test_records()
    n_done = sum(record.state in OVER for record in trials)
    is_over = is_finished(sweep, folder)
    state = "finished" if is_over else f"{n_done} of {ledger.sweep.n_trials} trials done"
    return f"[{state}] {headline(facts_of(ledger.sweep, trials, tests))}"


def _part_of(options: Options, sweep: Sweep) -> Options:
    """A folder of its own for each, and one database for all."""
    folder = options.folder / sweep.name
    return replace(
        options, folder=folder, records=options.folder, resume=options.resume and has_begun(folder)
    )


def _check_begun(parts: Sequence[tuple[Sweep, Options]], options: Options) -> None:
    begun = [part.folder.name for _, part in parts if has_begun(part.folder)]
    wants_old = options.resume or options.plan_only
    if begun and not wants_old:
        raise SweepError(
            f"{options.folder}: a new start must have a folder of its own, but {len(begun)} of "
            f"{len(parts)} sweeps are there ({begun[0]}, ...); go on with --resume, or choose "
            "another --output."
        )
    if options.resume and not begun:
        raise SweepError(f"{options.folder}: there must be sweeps to go on with, but are none.")


def _all_ready(parts: Sequence[tuple[Sweep, Options]], console: Console) -> list[Ready]:
    prepared, faults = [], dict[str, None]()
    for sweep, options in track(parts, "checking", console=console, transient=True):
        try:
            check_folder(sweep, options)
            prepared.append(ready(sweep, options))
        except SweepError as error:
            faults |= dict.fromkeys(str(error).splitlines())
    if faults:
        hint = "--only PATTERN leaves sweeps out, such as --only '*.split_mnist*'."
        raise SweepError("\n".join([*faults, hint]))
    return prepared


def _show_plan(prepared: Sequence[Ready], n_done: int, console: Console) -> None:
    measuring = track(prepared, "measuring a few steps of each", console=console, transient=True)
    plans = {part.sweep.name: plan_of(part, _SECONDS_TO_MEASURE) for part in measuring}
    console.print(queue_table(plans, n_done))


def _run(prepared: Sequence[Ready], console: Console) -> int:
    """One after the other; one that comes to nothing does not hold up the others."""
    from sweeper.service import Service  # and with it Tune: seconds, not before the plan

    cluster.connect(prepared[0].options.address)
    codes = []
    for place, part in enumerate(prepared, start=1):
        console.rule(f"{place} of {len(prepared)}: {part.sweep.name}", align="left")
        codes.append(Service(part, console, is_part=True).run())
        if codes[-1] == INTERRUPTED:
            break
    return max(codes)


def _nothing_left(console: Console) -> int:
    console.print("All of these sweeps are finished; nothing was changed.", style="green")
    return 0
