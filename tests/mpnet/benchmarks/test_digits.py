"""The digits benchmark: five tasks of two digits."""

import pytest
import torch
from torch import Tensor

from mpnet.benchmarks import BENCHMARKS, Split, TaskStream


def _stream(split: str, **options: object) -> TaskStream:
    return BENCHMARKS["digits"](split, **options)  # type: ignore[return-value]


def _rows(split: Split) -> set[bytes]:
    return {image.numpy().tobytes() for image in split.images}


def test_there_are_five_tasks_of_two_digits() -> None:
    stream = _stream("validation")
    assert stream.n_classes == [2] * 5
    assert stream.input_shape == (1, 8, 8)
    assert all(set(task.train.labels.tolist()) == {0, 1} for task in stream)


@pytest.mark.parametrize("t", range(5))
def test_train_validation_and_test_share_no_image(t: int) -> None:
    task = _stream("test")[t]
    train, validation, test = map(_rows, (task.train, task.validation, task.evaluation))
    assert not (train & validation or train & test or validation & test)


@pytest.mark.parametrize("t", range(5))
def test_validation_is_15_percent_of_each_class(t: int) -> None:
    task = _stream("validation")[t]
    for label in (0, 1):
        held_out = int((task.validation.labels == label).sum())
        kept = int((task.train.labels == label).sum())
        assert held_out == round(0.15 * (held_out + kept))


def test_a_run_that_evaluates_validation_holds_no_test_image() -> None:
    for seen, judged in zip(_stream("validation"), _stream("test"), strict=True):
        assert seen.evaluation is seen.validation
        assert not _rows(judged.evaluation) & (_rows(seen.train) | _rows(seen.validation))


def test_the_split_follows_its_own_seed() -> None:
    def first_task(seed: int) -> Tensor:
        return _stream("validation", split_seed=seed)[0].validation.images

    assert torch.equal(first_task(0), first_task(0))
    assert not torch.equal(first_task(0), first_task(1))


def test_training_images_are_normalised_over_the_base_set() -> None:
    stream = _stream("validation")
    known = torch.cat([torch.cat([t.train.images, t.validation.images]) for t in stream])
    normalised = stream[0].normalise(known)
    assert normalised.mean().item() == pytest.approx(0, abs=1e-4)
    assert normalised.std(correction=0).item() == pytest.approx(1, abs=1e-4)
