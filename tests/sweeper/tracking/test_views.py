"""The pages of MLflow that show a sweep, and links to them."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from mlflow import MlflowClient

from sweeper.tracking import Page, Tracking, run_links, set_page, set_ranks, ui_command, ui_links
from tests.sweeper.stores import log_of, runs

PAGE = Page(("ACC", "val/bwt"), ["method.name", "method.tau_max"], ["method.name"])


def state(sweep: Tracking) -> dict[str, Any]:
    """What MLflow's page would read."""
    experiment = MlflowClient(sweep.uri).get_experiment(sweep.experiment_id)
    [(name, text)] = [(n, t) for n, t in experiment.tags.items() if "sharedViewState" in n]
    assert name == f"mlflow.sharedViewState.sweep-{sweep.sweep_id}"
    return dict(json.loads(zlib.decompress(base64.b64decode(text.removeprefix("deflate;")))))


def test_the_page_has_metrics_and_searched_parameters_as_columns(sweep: Tracking) -> None:
    set_page(sweep, PAGE)
    found = state(sweep)
    names = ["metrics.`rank`", "metrics.`ACC`", "metrics.`val/bwt`"]
    names += ["params.`method.name`", "params.`method.tau_max`", "attributes.`Duration`"]
    assert found["selectedColumns"] == names
    assert found["searchFilter"] == "tags.`sweeper.role`='trial' and tags.`sweeper.sweep`='s1'"


@pytest.mark.parametrize("is_ranked", [False, True])
def test_trials_are_ordered_by_their_rank_once_they_have_one(
    sweep: Tracking, is_ranked: bool
) -> None:
    set_page(sweep, Page(("ACC",), [], [], is_ranked))
    found = state(sweep)
    expected = ("metrics.`rank`", True) if is_ranked else ("metrics.`ACC`", False)
    assert (found["orderByKey"], found["orderByAsc"]) == expected


def test_charts_show_each_parameter_and_lines_through_those_that_all_trials_have(
    sweep: Tracking,
) -> None:
    set_page(sweep, PAGE)
    lines, *others = state(sweep)["compareRunCharts"]
    assert (lines["type"], lines["selectedParams"]) == ("PARALLEL", ["method.name"])
    assert lines["selectedMetrics"][-1] == "ACC"  # which colours them
    assert [chart["xaxis"]["key"] for chart in others] == PAGE.params
    assert {chart["yaxis"]["key"] for chart in others} == {"ACC"}


def test_many_parameters_have_room(sweep: Tracking) -> None:
    params = [f"method.a_rather_long_name_of_a_parameter_{n}" for n in range(60)]
    set_page(sweep, Page(("ACC",), params, params))
    assert len(state(sweep)["compareRunCharts"]) == 61


def test_ranks_are_written_again_only_where_they_change(sweep: Tracking) -> None:
    for key in "abc":
        log_of(sweep, key).close("FINISHED")
    set_ranks(sweep, {"a": 1, "b": 2}, 10)
    set_ranks(sweep, {"c": 1, "a": 2, "b": 3}, 20)
    set_ranks(sweep, {"c": 1, "a": 2, "b": 3}, 30)
    found = {run.data.tags["sweeper.key"]: run for run in runs(sweep)}
    assert {key: run.data.metrics["rank"] for key, run in found.items()} == {
        "c": 1,
        "a": 2,
        "b": 3,
    }
    history = MlflowClient(sweep.uri).get_metric_history(found["a"].info.run_id, "rank")
    assert [point.step for point in history] == [10, 20]


def test_a_store_without_a_server_has_a_command_for_its_ui() -> None:
    command = ui_command("sqlite:////home/a b/mlflow.db")
    assert command == ["mlflow", "ui", "--backend-store-uri", "sqlite:////home/a b/mlflow.db"]
    assert ui_command("https://host") == []


@pytest.mark.parametrize(
    ("uri", "seen_as", "base"),
    [
        ("sqlite:////x/mlflow.db", None, "http://127.0.0.1:5000"),
        ("https://me:secret@host:80/mlflow/", None, "https://host:80/mlflow"),
        ("http://tracking:5000", "http://localhost:5000/", "http://localhost:5000"),
    ],
)
def test_the_links_open_the_sweep_s_own_pages(
    uri: str, seen_as: str | None, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seen_as:
        monkeypatch.setenv("MPNET_MLFLOW_UI", seen_as)
    links = ui_links(Tracking(uri, "7", "p", "s1", "/outbox"))
    for name, link in links.items():
        page, query = link.split("?")
        assert page == f"{base}/#/experiments/7/runs"
        own = {"workflowType": ["machine_learning"], "viewStateShareKey": ["sweep-s1"]}
        charts = {"compareRunsMode": ["CHART"]} if name == "charts" else {}
        assert parse_qs(query) == {**own, **charts}


def test_runs_have_links_where_a_server_is_known(
    sweep: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_of(sweep, "a").close("FINISHED")
    assert run_links(sweep.uri, "digits", "s1") == {}
    monkeypatch.setenv("MPNET_MLFLOW_UI", "http://here")
    [run] = runs(sweep)
    page = f"http://here/#/experiments/{sweep.experiment_id}/runs/{run.info.run_id}"
    assert run_links(sweep.uri, "digits", "s1") == {"a": page}


def test_a_server_that_is_away_costs_the_links_and_nothing_else(tmp_path: Path) -> None:
    assert run_links("http://127.0.0.1:9", "digits", "s1") == {}
