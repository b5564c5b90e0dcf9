"""What every registered benchmark must be, on small made-up copies of its data sets."""

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

from mpnet.benchmarks import BENCHMARKS, Source, Task, TaskStream
from mpnet.benchmarks._source import _Part
from mpnet.config import options_of
from mpnet.datasets import DATASETS, dataset
from mpnet.errors import DataMissing

PER_CLASS = {"train": 20, "test": 4}
# (number of tasks, classes of each)
EXPECTED = {
    "digits": (5, [2] * 5),
    "split_mnist": (5, [2] * 5),
    "permuted_mnist": (10, [10] * 10),
    "split_cifar10": (5, [2] * 5),
    "cifar10_100": (10, [2, 20] * 5),
    "sequence8": (8, [100, 10, 100, 10, 10, 10, 43, 10]),
}
OF_FOLDERS = {"image_folder"}  # nothing without one: its own suite makes some
NAMES = [name for name in BENCHMARKS if name not in OF_FOLDERS]
SMALL = {"partial_data": tuple(DATASETS)}  # the sets are tiny, and a run must say that it knows
every_benchmark = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decoded copies of all sets, tiny and random; every image is another one."""
    root = tmp_path_factory.mktemp("tiny")
    (root / "decoded").mkdir()
    generator = np.random.default_rng(0)
    for name in DATASETS:
        known = dataset(name)
        for part, n in PER_CLASS.items():
            labels = np.tile(np.arange(known.n_classes), n)
            shape = (len(labels), *known.shape)
            stem = root / "decoded" / f"{name}-{part}-v1"
            images = generator.integers(0, 256, shape, dtype=np.uint8)
            np.save(f"{stem}-images.npy", images)
            np.save(f"{stem}-labels.npy", labels)
    return root


def _stream(name: str, root: Path, split: str = "validation", **options: object) -> TaskStream:
    source = Source(split, str(root), **SMALL, **options)  # type: ignore[arg-type]
    return BENCHMARKS[name](source)


def _rows(images: torch.Tensor) -> set[bytes]:
    return {image.numpy().tobytes() for image in images}


@every_benchmark
def test_tasks_and_classes_are_those_of_the_paper(name: str, data_root: Path) -> None:
    stream = _stream(name, data_root)
    n_tasks, n_classes = EXPECTED[name]
    assert len(stream) == n_tasks
    assert stream.n_classes == n_classes
    for task in stream:
        assert set(task.train.labels.tolist()) == set(range(task.n_classes))


@every_benchmark
def test_images_of_all_tasks_have_the_shape_that_the_network_is_built_for(
    name: str, data_root: Path
) -> None:
    stream = _stream(name, data_root)
    for task in stream:
        x, _ = task.training_batch(torch.arange(4), torch.Generator().manual_seed(0))
        assert tuple(x.shape) == (4, *stream.input_shape)
        assert x.dtype == torch.float32


@every_benchmark
def test_train_validation_and_test_share_no_image(name: str, data_root: Path) -> None:
    for task in _stream(name, data_root, "test"):
        parts = [_rows(s.images()) for s in (task.train, task.validation, task.evaluation)]
        assert sum(map(len, parts)) == len(set.union(*parts))


@every_benchmark
def test_validation_is_15_percent_of_every_class(name: str, data_root: Path) -> None:
    for task in _stream(name, data_root):
        for label in range(task.n_classes):
            assert int((task.validation.labels == label).sum()) == 3  # of 20
            assert int((task.train.labels == label).sum()) == 17


@every_benchmark
def test_a_run_that_evaluates_validation_needs_no_test_file(
    name: str, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poisoned(set_name: str, part: str, *options: object) -> object:
        assert part == "train", f"the test part of {set_name} was read"
        return load(set_name, part, *options)

    from mpnet import datasets

    load = datasets.load
    monkeypatch.setattr(datasets, "load", poisoned)
    for task in _stream(name, data_root):
        assert task.evaluation is task.validation


@every_benchmark
def test_the_split_follows_its_own_seed(name: str, data_root: Path) -> None:
    first, again, other = (
        _stream(name, data_root, split_seed=seed)[0].validation.index for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@every_benchmark
def test_small_runs_use_so_many_images_of_every_class(name: str, data_root: Path) -> None:
    for task in _stream(name, data_root, max_train_per_class=7):
        counts = torch.bincount(torch.cat([task.train.labels, task.validation.labels]))
        assert counts.tolist() == [7] * task.n_classes


@every_benchmark
def test_the_fingerprint_tells_streams_apart(name: str, data_root: Path) -> None:
    prints = [_stream(name, data_root, split_seed=seed).fingerprint() for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]


@every_benchmark
def test_training_images_are_normalised_over_the_whole_set(name: str, data_root: Path) -> None:
    task = _stream(name, data_root)[0]
    shown = task.prepare(task.train.pool)
    assert shown.mean().item() == pytest.approx(0, abs=1e-3)
    assert shown.var(correction=0).item() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("n_tasks", [2, 5])
@pytest.mark.parametrize("name", ["split_mnist", "split_cifar10"])
def test_a_set_can_be_cut_into_two_or_five(name: str, n_tasks: int, data_root: Path) -> None:
    stream = BENCHMARKS[name](Source("validation", str(data_root), **SMALL), n_tasks=n_tasks)
    assert stream.n_classes == [10 // n_tasks] * n_tasks


def test_mnist_can_be_one_task_of_ten_classes(data_root: Path) -> None:
    stream = BENCHMARKS["split_mnist"](Source("validation", str(data_root), **SMALL), n_tasks=1)
    assert stream.n_classes == [10]


def test_permutations_differ_by_task_and_are_the_same_in_every_process(data_root: Path) -> None:
    script = (
        "import sys; from mpnet.benchmarks import BENCHMARKS, Source;"
        "stream = BENCHMARKS['permuted_mnist'](Source('validation', sys.argv[1],"
        "partial_data=['mnist']));"
        "print([task.prepare.permutation.tolist() for task in stream])"
    )
    command = [sys.executable, "-c", script, str(data_root)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    own = [task.prepare.permutation for task in _stream("permuted_mnist", data_root)]
    assert json.loads(shown) == [order.tolist() for order in own if order is not None]
    assert len({tuple(order) for order in json.loads(shown)}) == 10
    assert all(sorted(order) == list(range(784)) for order in json.loads(shown))


def test_tasks_of_several_data_sets_know_theirs(data_root: Path) -> None:
    assert _stream("sequence8", data_root).data_sets[:3] == ("facescrub", "mnist", "cifar100")
    assert _stream("cifar10_100", data_root).data_sets == ("cifar10", "cifar100") * 5
    assert _stream("split_mnist", data_root).data_sets == ()


def test_classes_that_a_partial_set_has_no_images_of_are_no_error() -> None:
    few = _Part(torch.zeros(6, 1, 1, 1), torch.arange(6) % 3, torch.arange(6))
    assert few.of_classes(range(10)).labels.tolist() == [0, 1, 2, 0, 1, 2]


def test_missing_sets_are_all_named_with_the_way_to_run_without_them(tmp_path: Path) -> None:
    sets = ["notmnist", "facescrub"]
    with pytest.raises(DataMissing) as error:
        BENCHMARKS["sequence8"](Source("validation", str(tmp_path)), sets=sets)
    assert all(name in str(error.value).lower() for name in (*sets, "benchmark.sets"))


def test_the_digits_are_there_without_any_file(tmp_path: Path) -> None:
    stream = _stream("digits", tmp_path)
    assert sum(len(task.train) + len(task.validation) for task in stream) == 1438


# Class orders

WITH_ORDERS = [name for name in NAMES if "class_order" in options_of(BENCHMARKS[name])]
every_order = pytest.mark.parametrize("name", WITH_ORDERS)
Held = dict[str, set[bytes]]  # part of a task -> its images


def _ordered(name: str, root: Path, class_order: int | None, **options: object) -> TaskStream:
    return BENCHMARKS[name](Source("test", str(root), **SMALL), class_order=class_order, **options)


def _by_class(stream: TaskStream) -> list[Held]:
    """The images of each class of each task, part by part."""
    parts = ("train", "validation", "evaluation")
    return [
        {part: _rows(getattr(task, part).images(_of(task, part, label))) for part in parts}
        for task in stream
        for label in range(task.n_classes)
    ]


def _of(task: Task, part: str, label: int) -> torch.Tensor:
    return (getattr(task, part).labels == label).nonzero().squeeze(1)


def _tasks(stream: TaskStream) -> list[frozenset[bytes]]:
    """The test images of each task: what tells which classes it holds."""
    return [frozenset(_rows(task.evaluation.images())) for task in stream]


def _first_set(name: str) -> str:
    return {"cifar10_100": "cifar10", "digits": "digits"}.get(name, name.removeprefix("split_"))


def test_benchmarks_that_are_cut_by_classes_have_orders_of_them() -> None:
    assert WITH_ORDERS == ["cifar10_100", "digits", "split_cifar10", "split_mnist"]


@every_order
@pytest.mark.parametrize("class_order", [0, 1])
def test_a_class_order_keeps_every_class_once_with_the_images_of_all_its_parts(
    name: str, class_order: int, data_root: Path
) -> None:
    plain, shuffled = (_by_class(_ordered(name, data_root, o)) for o in (None, class_order))
    assert len(shuffled) == len(plain)
    assert all(held in plain for held in shuffled)
    assert all(held in shuffled for held in plain)


@every_order
def test_a_class_order_leaves_the_sizes_of_tasks_and_what_prepares_them(
    name: str, data_root: Path
) -> None:
    plain, shuffled = (_ordered(name, data_root, order) for order in (None, 3))
    assert shuffled.n_classes == plain.n_classes
    for before, after in zip(plain, shuffled, strict=True):
        assert torch.equal(before.prepare.mean, after.prepare.mean)
        assert before.is_augmented == after.is_augmented


@every_order
def test_ten_class_orders_and_the_ascending_one_all_differ(name: str, data_root: Path) -> None:
    found = [_tasks(_ordered(name, data_root, order)) for order in (None, *range(10))]
    assert all(a != b for a, b in combinations(found, 2))


@every_order
def test_the_fingerprint_tells_class_orders_apart(name: str, data_root: Path) -> None:
    prints = [_ordered(name, data_root, order).fingerprint() for order in (None, 0, 0, 1)]
    assert prints[1] == prints[2]
    assert len(set(prints)) == 3


@every_order
def test_without_a_class_order_classes_ascend(name: str, data_root: Path) -> None:
    first = BENCHMARKS[name](Source("test", str(data_root), **SMALL))[0]
    assert first.name == "0-1"
    labels = np.load(data_root / "decoded" / f"{_first_set(name)}-test-v1-labels.npy")
    assert torch.equal(first.evaluation.labels, torch.from_numpy(labels[labels < 2]))


@every_order
def test_a_class_order_is_the_same_in_every_process_whatever_was_drawn_there(
    name: str, data_root: Path
) -> None:
    script = (
        "import sys, torch; torch.manual_seed(99); torch.rand(7);"
        "from mpnet.benchmarks import BENCHMARKS, Source;"
        "from mpnet.datasets import DATASETS;"
        "stream = BENCHMARKS[sys.argv[1]](Source('test', sys.argv[2],"
        "partial_data=[*DATASETS]), class_order=5);"
        "print(stream.fingerprint())"
    )
    command = [sys.executable, "-c", script, name, str(data_root)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == _ordered(name, data_root, 5).fingerprint()


@every_order
def test_drawing_a_class_order_leaves_the_generator_of_all_others_alone(
    name: str, data_root: Path
) -> None:
    before = torch.get_rng_state()
    _ordered(name, data_root, 5)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("options", [{"n_tasks": 2}, {"n_tasks": 5, "dataset": "fashion_mnist"}])
def test_split_mnist_has_class_orders_for_all_that_it_can_be(
    options: dict[str, object], data_root: Path
) -> None:
    plain, *shuffled = (
        _ordered("split_mnist", data_root, order, **options) for order in (None, *range(10))
    )
    found = [_tasks(stream) for stream in (plain, *shuffled)]
    assert all(a != b for a, b in combinations(found, 2))
    assert all(frozenset.union(*tasks) == frozenset.union(*found[0]) for tasks in found)


def test_one_task_of_all_classes_is_the_same_in_any_class_order(data_root: Path) -> None:
    streams = [_ordered("split_mnist", data_root, order, n_tasks=1) for order in (None, 4)]
    assert streams[0].fingerprint() == streams[1].fingerprint()
