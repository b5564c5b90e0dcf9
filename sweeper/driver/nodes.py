"""What must hold on every node of a cluster, looked at from there before a sweep starts."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from sweeper.execution import storage

_ANSWER_SECONDS = 300.0  # a node may have to decode its data first


@dataclass(frozen=True)
class Needs:
    """What a trial needs wherever it runs.

    Args:
        places: key of the setting -> folder or URI that all nodes must share.
        uri: of MLflow.
        configurations: runs whose data must be there.
    """

    places: dict[str, str]
    uri: str
    configurations: Sequence[Any]


def faults(needs: Needs) -> list[str]:
    """What is wrong on which node; every node prepares its data meanwhile."""
    marks = {key: storage.mark(place) for key, place in needs.places.items()}
    try:
        asked = {_name(node): _asked(node, needs, marks) for node in _working_nodes()}
        return [f"node {name}: {text}" for name, task in asked.items() for text in _answer(task)]
    finally:
        for key, mark in marks.items():
            storage.unmark(needs.places[key], mark)


def _working_nodes() -> list[dict[str, Any]]:
    """The nodes that can be given a trial."""
    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']}, {node['NodeID'][:6]})"


def _asked(node: dict[str, Any], needs: Needs, marks: dict[str, str]) -> "ray.ObjectRef[Any]":
    there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    task = ray.remote(num_cpus=0, max_retries=0)(_look)
    return task.options(scheduling_strategy=there).remote(needs, marks)


def _answer(task: "ray.ObjectRef[Any]") -> list[str]:
    try:
        return list(ray.get(task, timeout=_ANSWER_SECONDS))
    except GetTimeoutError:
        return [f"must answer within {_ANSWER_SECONDS:.0f} s, but did not."]
    except RayError as error:
        why = str(error).strip().splitlines()[-1]
        return [f"must be able to import this package as the driver does, but: {why}"]


def _look(needs: Needs, marks: dict[str, str]) -> list[str]:
    """What is wrong with the node on which this runs."""
    from sweeper import tracking
    from sweeper.driver import binding

    found = [
        f"{key}: every node must see {place} as the driver does, but {socket.gethostname()} does "
        "not; give a shared folder or a URI."
        for key, place in needs.places.items()
        if not storage.is_marked(place, marks[key])
    ]
    if wrong := tracking.tracking_fault(needs.uri):
        found.append(f"sweep.tracking_uri: {wrong}")
    return [*found, *binding.node_faults(needs.configurations)]
