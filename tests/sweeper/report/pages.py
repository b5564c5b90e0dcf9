"""Pages and figures of literal records, as a reader sees them."""

import json
from collections.abc import Sequence
from typing import Any

from sweeper.config.sweep import Sweep
from sweeper.report.figure import Figure
from sweeper.report.rendering import render
from sweeper.results.facts import facts_of
from sweeper.results.records import TrialRecord
from tests.sweeper.records import Page, sweep_of


def rendered(trials: Sequence[TrialRecord], sweep: Sweep | None = None) -> Page:
    return Page(render(facts_of(sweep or sweep_of(), trials, []), {}).html)


def drawn(figure: Figure) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The traces and the layout that plotly is given."""
    decoder = json.JSONDecoder()
    rest = figure.div.partition(f'"plot-{figure.name}",')[2].lstrip()
    traces, end = decoder.raw_decode(rest)
    layout, _ = decoder.raw_decode(rest[end:].lstrip(" ,"))
    return traces, layout
