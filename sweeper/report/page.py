"""The facts as text: tables for the page, the page itself, Markdown and CSV."""

import csv
import io
from collections.abc import Mapping
from typing import Any, NamedTuple

import plotly.offline

from sweeper.report import run_figures, search_figures
from sweeper.report.table1.paper import cells_of
from sweeper.report.table1.protocol import departures
from sweeper.report.templates import file_text, jinja_environment
from sweeper.results import texts
from sweeper.results.comparison import compare
from sweeper.results.facts import Facts, over_seeds
from sweeper.results.records import TrialRecord
from sweeper.results.sharing import saved_text
from sweeper.results.tested import mean_matrix

_FIRST_COLUMNS = ("rank", "trial", "state", "ACC (%)", "BWT (%)")
_MOST_ROWS = 500  # of the table; trials.csv has all
_N_COMMANDS = 3  # of the best trials


class Heading(NamedTuple):
    """A head: its label, what it says when pointed at, and whether words stand below it."""

    label: str
    title: str
    is_words: bool


class SortableCell(NamedTuple):
    """A cell of a sortable table: what is read, by what it is sorted, where it leads."""

    text: str
    key: float | str
    link: str = ""


def html(facts: Facts, about: Mapping[str, str], links: Mapping[str, str]) -> str:
    """The page, with all that it needs inside."""
    metrics = facts.sweep.objective
    search = [
        search_figures.trade_off(facts),
        *(search_figures.history(facts, metric) for metric in metrics),
        *(search_figures.slices(facts, metric) for metric in metrics),
        search_figures.parallel(facts),
        *(search_figures.sensitivity(facts, metric) for metric in metrics),
    ]
    return (
        jinja_environment()
        .get_template("page.html")
        .render(
            **_context(facts, about),
            css=file_text("page.css"),
            js=file_text("page.js"),
            plotly_js=plotly.offline.get_plotlyjs(),
            rows=[_row(facts, p, t, links) for p, t in enumerate(_listed(facts)[:_MOST_ROWS])],
            matrices=run_figures.matrices(facts),
            curves=run_figures.curves(facts),
            forest=differences(facts),
            tree=first_tasks(facts),
            search=search,
        )
    )


def differences(facts: Facts) -> str:
    """The picture of all pairs that are compared, as SVG; empty if there are none."""
    pairs = compare(facts).pairs
    if not pairs:
        return ""
    from sweeper.report import forest  # Matplotlib: most sweeps have no such picture

    return forest.svg(forest.forest(pairs))


def first_tasks(facts: Facts) -> str:
    """The picture of what started from which first task, as SVG; empty if nothing was shared."""
    if not any(trial.first_tasks for trial in facts.ranked):
        return ""
    from sweeper.report import forest, tree

    shown = tree.rows(facts)
    is_shared = any(len(trials) > 1 for _, trials in shown)
    return forest.svg(tree.tree(shown)) if is_shared else ""


def markdown(facts: Facts, about: Mapping[str, str]) -> str:
    """The page as Markdown, without pictures."""
    shown = enumerate(_listed(facts)[:_MOST_ROWS])
    rows = [[entry.text for entry in _row(facts, place, t, {})] for place, t in shown]
    R = mean_matrix(facts.best.R) if facts.best and facts.best.R else []
    template = jinja_environment().get_template("page.md")
    tasks = facts.best.task_names if facts.best else []
    return template.render(**_context(facts, about), rows=rows, R=R, tasks=tasks)


def part(facts: Facts, name: str) -> str:
    """One block of the Markdown page: "tests", "groups" or its "members", without differences."""
    template = jinja_environment().get_template("page.md")
    return "".join(template.blocks[name](template.new_context(_context(facts, {}))))


def csv_text(facts: Facts) -> str:
    """One row per trial, as recorded: fractions, seconds, full paths."""
    metrics = list(dict.fromkeys(name for trial in facts.trials for name in trial.metrics))
    paths = list(dict.fromkeys([*facts.sweep.space, *(p for t in facts.trials for p in t.values)]))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    last = ("seeds", "seconds", "seconds_saved", "first_tasks", "reason")
    writer.writerow(["number", "key", "state", *paths, *metrics, *last])
    for trial in facts.trials:
        values = [trial.values.get(path, "") for path in paths]
        scores = [trial.metrics.get(name, "") for name in metrics]
        seeds = " ".join(map(str, trial.seeds))
        start = [trial.number, trial.key, trial.state]
        shared = [trial.seconds_saved, " ".join(one["name"] for one in trial.first_tasks)]
        end = [seeds, trial.seconds, *shared, trial.reason or ""]
        writer.writerow([*start, *values, *scores, *end])
    return buffer.getvalue()


def _context(facts: Facts, about: Mapping[str, str]) -> dict[str, Any]:
    """What both templates say."""
    best, file = facts.best, f"{facts.sweep.name}.yaml"
    return {
        "facts": facts,
        "sweep": facts.sweep,
        "about": about,
        "file": file,
        "subject": _subject(facts),
        "search_line": _search_line(facts),
        "states": _states(facts),
        "saved": saved_text(facts.trials),
        "best": best,
        "validation": over_seeds(best) if best else {},
        "rerun": facts.best_test,
        "order_rerun": facts.best_order_test,
        "tests_by_trial": {result.configuration: result for result in facts.tests},
        "tuned_order": _tuned_order(facts),
        "n_failed_orders": sum(result.n_failed for result in facts.order_tests),
        "cells": cells_of(best),
        "cells_of": cells_of,
        "departures": departures(best.run) if best and best.run else [],
        "warnings": texts.protection_warnings(facts.best_protected),
        "compared": compare(facts),
        "columns": _columns(facts),
        "n_hidden": max(0, len(facts.trials) - _MOST_ROWS),
        "commands": _commands(facts, file),
        "objective": " and ".join(metric.upper() for metric in facts.sweep.select_objective),
    }


def _subject(facts: Facts) -> str:
    """Which methods on which benchmark."""
    tasks = texts.counted(len(facts.best.R[0]), "task") if facts.best and facts.best.R else ""
    named = f"{_names(facts, 'method')} on {_names(facts, 'benchmark')}"
    return named + (f" ({tasks})" if tasks else "")


def _names(facts: Facts, block: str) -> str:
    """The names that are searched over, or the only one: as resolved, or else as in the file."""
    if domain := facts.sweep.space.get(f"{block}.name"):
        return ", ".join(map(str, domain.values))
    run = next((trial.run for trial in facts.trials if trial.run), facts.sweep.run)
    return str(run.get(block, {}).get("name", "the default"))


def _tuned_order(facts: Facts) -> str:
    """The class order that the search has seen, in words."""
    run = facts.best.run if facts.best else facts.sweep.run
    order = run.get("benchmark", {}).get("class_order")
    return "ascending classes" if order is None else f"class order {order}"


def _search_line(facts: Facts) -> str:
    """How it was searched, in a sentence."""
    sweep = facts.sweep
    seeds = f", {sweep.settings.repeats} seeds each" if sweep.settings.repeats > 1 else ""
    stopper = "" if sweep.settings.scheduler == "none" else f", {sweep.settings.scheduler} stops"
    sought = " and ".join(metric.upper() for metric in sweep.objective)
    drawn = " and ".join(name.replace("_", " ") for name in sweep.select.reseed)
    reseeded = f" Reruns draw {drawn} by their own seed." if drawn else ""
    return (
        f"{texts.counted(len(sweep.space), 'parameter')}, sampler {sweep.sampler.name}, "
        f"{texts.counted(sweep.n_trials, 'trial')} planned{seeds}{stopper}; sought: {sought}."
        f"{reseeded}"
    )


def _states(facts: Facts) -> str:
    """How many trials came to what end."""
    order = ("finished", "failed", "stopped", "running")
    parts = [f"{facts.counts[state]} {state}" for state in order if facts.counts.get(state)]
    return ", ".join(parts) or "no trials yet"


def _columns(facts: Facts) -> list[Heading]:
    paths = facts.sweep.space
    wordy = [p for p, domain in paths.items() if any(isinstance(v, str) for v in domain.values)]
    return [
        *(Heading(label, "", label == "state") for label in _FIRST_COLUMNS),
        *(Heading(short, path, path in wordy) for path, short in texts.short_names(paths).items()),
        Heading("time", "of training, all attempts", False),
        *([Heading("reason", "", True)] if facts.failures else []),
    ]


def _listed(facts: Facts) -> list[TrialRecord]:
    return [*facts.ranked, *facts.unranked]


def _row(
    facts: Facts, place: int, trial: TrialRecord, links: Mapping[str, str]
) -> list[SortableCell]:
    is_ranked = trial.state == "finished"
    scores = over_seeds(trial) if is_ranked else {}
    return [
        SortableCell(str(place + 1), place) if is_ranked else SortableCell(texts.NOTHING, place),
        SortableCell(str(trial.number), trial.number, links.get(trial.run_key, "")),
        SortableCell(trial.state, trial.state),
        *(_score(scores.get(metric), metric == "bwt") for metric in ("acc", "bwt")),
        *(_value(trial.values.get(path)) for path in facts.sweep.space),
        SortableCell(texts.duration(trial.seconds), trial.seconds),
        *([_reason(trial)] if facts.failures else []),
    ]


def _score(score: Any, is_signed: bool) -> SortableCell:
    text, key = (texts.spread(score, is_signed), score.mean) if score else (texts.NOTHING, "")
    return SortableCell(text, key)


def _value(value: object) -> SortableCell:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = texts.NOTHING if value is None else texts.short_value(value)
    return SortableCell(text, value if is_number else text)  # type: ignore[arg-type]


def _reason(trial: TrialRecord) -> SortableCell:
    """The last line says most, as in a traceback."""
    last = (trial.reason or "").strip().split("\n")[-1]
    text = last if len(last) <= 80 else f"{last[:79]}…"
    return SortableCell(text, last)


def _commands(facts: Facts, file: str) -> list[dict[str, Any]]:
    seeds = {rerun.configuration: rerun.seeds for rerun in facts.tests}
    orders = {rerun.configuration: rerun.seeds for rerun in facts.order_tests}
    return [
        {
            "number": trial.number,
            "runs": texts.run_commands(
                file,
                trial,
                seeds.get(trial.number, ()),
                orders.get(trial.number, {}),
                facts.sweep.select.reseed,
            ),
        }
        for trial in facts.ranked[:_N_COMMANDS]
    ]
