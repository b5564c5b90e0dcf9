"""A folder of pictures as tasks: which pictures, which labels, which size, which faults."""

import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpnet.benchmarks import TaskStream
from mpnet.config import parse_run
from mpnet.continual import run
from mpnet.errors import ConfigError, DataMissing
from tests.mpnet.packages import CLASSES, draw


def stream(root: Path, split: str = "validation", **options: Any) -> TaskStream:
    """The tasks of the folder `pets`."""
    benchmark = {"name": "image_folder", "folder": "pets", "size": 8, **options}
    raw = {"benchmark": benchmark, "data_root": str(root), "split": split}
    return parse_run(raw).build_stream()


def greys(split: Any) -> list[int]:
    """The grey of every picture."""
    return [int(image.flatten()[0]) for image in split.images()]


def test_pictures_have_the_size_and_the_label_of_their_folder(tmp_path: Path) -> None:
    draw(tmp_path / "pets")
    tasks = stream(tmp_path, n_tasks=2)
    assert tasks.input_shape == (3, 8, 8)
    assert tasks.n_classes == [2, 2]
    for t, task in enumerate(tasks):
        classes = [grey // 50 for grey in greys(task.train)]
        assert classes == [2 * t + label for label in task.train.labels.tolist()]


def test_without_parts_a_fifth_of_every_class_is_for_the_test_alone(tmp_path: Path) -> None:
    draw(tmp_path / "pets")
    (task,) = stream(tmp_path, "test")
    seen = [set(greys(part)) for part in (task.train, task.validation, task.evaluation)]
    assert [len(part) for part in seen] == [56, 8, 16]  # 15 % of 16 of each class: 2
    assert len(set.union(*seen)) == 80
    assert torch.bincount(task.evaluation.labels).tolist() == [4, 4, 4, 4]


def test_parts_of_the_folder_are_taken_as_they_are(tmp_path: Path) -> None:
    draw(tmp_path / "pets" / "train", n=10)
    draw(tmp_path / "pets" / "test", n=3)
    (task,) = stream(tmp_path, "test")
    assert len(task.train) + len(task.validation) == 40
    assert len(task.evaluation) == 12


def test_tasks_can_be_named_by_their_classes(tmp_path: Path) -> None:
    draw(tmp_path / "pets")
    tasks = stream(tmp_path, tasks=[["dog", "ant"], ["bee"]], channels=1)
    assert tasks.n_classes == [2, 1]
    assert {grey // 50 for grey in greys(tasks[0].train)} == {0, 3}
    assert tasks.input_shape == (1, 8, 8)


def test_a_class_order_mixes_the_tasks_and_loses_no_class(tmp_path: Path) -> None:
    draw(tmp_path / "pets")
    orders = {
        tuple(frozenset(grey // 50 for grey in greys(task.train)) for task in tasks)
        for tasks in (stream(tmp_path, n_tasks=2, class_order=seed) for seed in range(6))
    }
    assert len(orders) > 1
    assert all(frozenset.union(*order) == {0, 1, 2, 3} for order in orders)


def test_new_pictures_are_seen(tmp_path: Path) -> None:
    draw(tmp_path / "pets", n=10)
    before = sum(len(task.train) for task in stream(tmp_path))
    draw(tmp_path / "pets", n=20)
    later = time.time() + 10  # a copy may be stamped a second ahead
    os.utime(tmp_path / "pets" / "ant", (later, later))
    assert sum(len(task.train) for task in stream(tmp_path)) > before


def test_a_run_on_a_folder_can_be_trained(tmp_path: Path) -> None:
    draw(tmp_path / "pets")
    benchmark = {"name": "image_folder", "folder": "pets", "size": 4, "n_tasks": 2}
    network, training = {"name": "mlp", "hidden": [4]}, {"epochs": 1}
    raw = {"benchmark": benchmark, "network": network, "training": training}
    assert np.isfinite(run(parse_run({**raw, "data_root": str(tmp_path)})).R[-1]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_tasks": 3}, "benchmark.n_tasks: must divide the 4 classes of the folder, but got 3"),
        ({"tasks": [["ant"], ["dgo"]]}, "benchmark.tasks: no class 'dgo'; did you mean 'dog'?"),
        ({"tasks": [["ant"], ["ant"]]}, "benchmark.tasks: each class must stand there once"),
        ({"tasks": [["ant"]], "n_tasks": 2}, "n_tasks and class_order must not stand beside it"),
    ],
)
def test_tasks_that_cannot_be_are_told(options: Any, words: str, tmp_path: Path) -> None:
    draw(tmp_path / "pets", n=2)
    with pytest.raises(ConfigError, match=re.escape(words)):
        stream(tmp_path, **options)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="pets: must be a folder, but is not. Put one folder"):
        stream(tmp_path)


def test_parts_with_other_classes_are_told(tmp_path: Path) -> None:
    draw(tmp_path / "pets" / "train", n=2)
    draw(tmp_path / "pets" / "test", CLASSES[:2], n=2)
    with pytest.raises(ConfigError, match="must hold the same two or more folders of classes"):
        stream(tmp_path)


def test_a_folder_without_pictures_is_told(tmp_path: Path) -> None:
    for name in CLASSES:
        (tmp_path / "pets" / name).mkdir(parents=True)
        (tmp_path / "pets" / name / "notes.txt").write_text("no picture")
    with pytest.raises(DataMissing, match="must be readable, but is not"):
        stream(tmp_path)
