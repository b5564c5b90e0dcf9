"""What reruns draw by their seed."""

import pytest

from sweeper.config.reseeding import benchmark_seeds, undrawn


def test_seeds_of_the_benchmark_follow_that_of_the_run() -> None:
    found = benchmark_seeds(("split", "class_order"), 3)
    assert found == {"split_seed": 3, "class_order": 3}
    assert benchmark_seeds((), 3) == {}


@pytest.mark.parametrize("seed", [0, 1, 7, 100])
def test_neighbouring_seeds_share_no_permutation_of_a_task(seed: int) -> None:
    """Task t is permuted by the seed plus t."""
    one, other = (
        benchmark_seeds(("permutation",), s)["permutation_seed"] for s in (seed, seed + 1)
    )
    assert not {one + t for t in range(100)} & {other + t for t in range(100)}


def test_a_permutation_seed_is_one_that_a_generator_takes() -> None:
    assert 0 <= benchmark_seeds(("permutation",), 2**32 - 1)["permutation_seed"] < 2**32


def test_what_a_benchmark_does_not_draw_is_named() -> None:
    resolved = {"name": "split_mnist", "split_seed": 0, "class_order": None}
    assert undrawn(("split", "permutation", "class_order"), resolved) == ["permutation"]
