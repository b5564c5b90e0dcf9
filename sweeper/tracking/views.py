"""Pages of MLflow that show a sweep: their columns, their charts, and links to them."""

import base64
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sweeper.tracking.delivery import ROLE, SWEEP, trial_runs
from sweeper.tracking.store import connect, experiment_id, plain_errors, without_password
from sweeper.tracking.target import Tracking

ACC = "ACC"  # of a trial over its epochs: MLflow's page to compare runs opens on the oldest metric
RANK = "rank"  # the metric that holds a trial's place among the finished ones
_TAG = "mlflow.sharedViewState."
_SECTION = "search"
_MOST_RUNS = 1000  # in a chart; MLflow's own default is ten
_WIDTHS = {RANK: 70, "val/mean_diagonal": 140}
_WIDTH = 100


@dataclass(frozen=True)
class Page:
    """What MLflow shows of a sweep's trials.

    Args:
        metrics: a column each; the first is what trials are ordered by until they are ranked,
            and what charts show.
        params: searched ones: a column and a chart each.
        shared: those of them that every trial has; lines across all others would miss trials.
        is_ranked: whether trials have their places.
    """

    metrics: Sequence[str]
    params: Sequence[str]
    shared: Sequence[str]
    is_ranked: bool = False


def set_page(tracking: Tracking, page: Page) -> None:
    """Keep the page with the experiment, where its links find it.

    Raises:
        ConnectionError: MLflow is away or refuses.
    """
    # MLflow's own form of what its "Share" button keeps; a tag holds 5000 characters.
    packed = base64.b64encode(zlib.compress(json.dumps(_state(tracking, page)).encode())).decode()
    with plain_errors(tracking.uri):
        client = connect(tracking.uri)
        name = f"{_TAG}{_key(tracking)}"
        client.set_experiment_tag(tracking.experiment_id, name, f"deflate;{packed}")


def set_ranks(tracking: Tracking, places: Mapping[str, int], step: int) -> None:
    """Tell the runs of finished trials their places.

    Args:
        places: by key.
        step: greater than at the last time.

    Raises:
        ConnectionError: MLflow is away or refuses.
    """
    with plain_errors(tracking.uri):
        client = connect(tracking.uri)
        for key, runs in trial_runs(client, tracking.experiment_id, tracking.sweep_id).items():
            place = places.get(key)
            if place is not None and runs[0].data.metrics.get(RANK) != place:
                client.log_metric(runs[0].info.run_id, RANK, place, step=step)


def ui_command(uri: str) -> list[str]:
    """The words of a command to look at a store that has no server of its own."""
    return [] if uri.startswith("http") else ["mlflow", "ui", "--backend-store-uri", uri]


def ui_base(uri: str) -> str:
    """Where a browser finds the UI: MPNET_MLFLOW_UI where the network of trials is not the user's.

    A store that is a server is its own; a file is served by `ui_command`.
    """
    own = "http://127.0.0.1:5000" if ui_command(uri) else without_password(uri)
    return os.environ.get("MPNET_MLFLOW_UI", own).rstrip("/")


def ui_links(tracking: Tracking) -> dict[str, str]:
    """The pages with the sweep's trials, by name: a table, and charts."""
    query = {"workflowType": "machine_learning", "viewStateShareKey": _key(tracking)}
    page = f"{ui_base(tracking.uri)}/#/experiments/{tracking.experiment_id}/runs?"
    charts = {**query, "compareRunsMode": "CHART"}
    return {"trials": page + urlencode(query), "charts": page + urlencode(charts)}


def run_links(uri: str, experiment: str, sweep_id: str) -> dict[str, str]:
    """The pages of trials and reruns by key; nothing where no server is known, or it is away."""
    if ui_command(uri) and "MPNET_MLFLOW_UI" not in os.environ:
        return {}
    try:
        with plain_errors(uri):
            client, found = connect(uri), experiment_id(uri, experiment)
            every = trial_runs(client, found, sweep_id)
    except ConnectionError:
        return {}
    page = f"{ui_base(uri)}/#/experiments/{found}/runs"
    return {key: f"{page}/{runs[0].info.run_id}" for key, runs in every.items()}


def _key(tracking: Tracking) -> str:
    return f"sweep-{tracking.sweep_id[:12]}"


def _state(tracking: Tracking, page: Page) -> dict[str, Any]:
    metrics = [RANK, *page.metrics]
    columns = [f"metrics.`{name}`" for name in metrics]
    columns += [f"params.`{name}`" for name in page.params]
    widths = {f"metrics.`{name}`": _WIDTHS.get(name, _WIDTH) for name in metrics}
    widths |= {f"params.`{name}`": _WIDTH for name in page.params}
    columns.append("attributes.`Duration`")
    return {
        "searchFilter": f"tags.`{ROLE}`='trial' and tags.`{SWEEP}`='{tracking.sweep_id}'",
        "orderByKey": columns[0 if page.is_ranked else 1],
        "orderByAsc": page.is_ranked,
        "selectedColumns": columns,
        "columnOrder": columns,
        "columnWidths": widths,
        "runsHiddenMode": "SHOW_ALL",
        "isAccordionReordered": True,  # or its own charts would come first
        "compareRunSections": [_shown({"uuid": _SECTION, "name": _SECTION, "columns": 2})],
        "compareRunCharts": _charts(page),
    }


def _charts(page: Page) -> list[dict[str, Any]]:
    """Lines through all parameters, then a chart for each of them."""
    metric = {"key": page.metrics[0], "type": "METRIC"}
    lines = {"selectedParams": [*page.shared], "selectedMetrics": [*page.metrics[1::-1]]}
    every: list[dict[str, Any]] = [{"type": "PARALLEL", **lines}] if page.shared else []
    for name in page.params:
        every.append({"type": "SCATTER", "xaxis": {"key": name, "type": "PARAM"}, "yaxis": metric})
    common = {"metricSectionId": _SECTION, "runsCountToCompare": _MOST_RUNS}
    return [_shown({"uuid": str(n), **common, **chart}) for n, chart in enumerate(every)]


def _shown(what: dict[str, Any]) -> dict[str, Any]:
    return {"display": True, "isReordered": False, "deleted": False, "isGenerated": False, **what}
