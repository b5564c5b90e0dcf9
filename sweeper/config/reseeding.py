"""What a benchmark draws by seeds of its own, and how these follow the seeds of reruns."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

Drawn = Literal["split", "permutation", "class_order"]

_N_SEEDS = 2**32  # of the generator that draws permutations


class _Seed(NamedTuple):
    """A key of a benchmark that holds a seed, and how many seeds a run takes from there on."""

    key: str
    width: int = 1


_SEEDS: Mapping[Drawn, _Seed] = {
    "split": _Seed("split_seed"),
    # One for each task: two runs must not share permutations that are a task apart.
    "permutation": _Seed("permutation_seed", 1000),
    "class_order": _Seed("class_order"),
}


def benchmark_seeds(drawn: Iterable[Drawn], seed: int) -> dict[str, int]:
    """Keys of the benchmark with their values for a run with this seed, the same in all sweeps."""
    return {_SEEDS[one].key: seed * _SEEDS[one].width % _N_SEEDS for one in drawn}


def undrawn(drawn: Iterable[Drawn], benchmark: Mapping[str, Any]) -> list[Drawn]:
    """What a resolved benchmark does not draw at all."""
    return [one for one in drawn if _SEEDS[one].key not in benchmark]
