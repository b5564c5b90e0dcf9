"""How many operations a training step starts: a GPU waits for starts where networks are small."""

import pytest

from mpnet.methods import METHODS
from tests.performance._counting import bare_step, counted_step

# Before anything was merged, on the MLP and on AlexNet (`docs/decisions.md`).
START = {
    "bbb": (865, 1675),
    "ewc": (43, 79),
    "ff": (110, 154),
    "ft": (213, 417),
    "hat": (97, 199),
    "jt": (223, 427),
    "lra": (237, 477),
    "mas": (43, 79),
    "plain_ff": (27, 38),
    "plain_ft": (36, 60),
    "plain_jt": (36, 60),
    "ppbi": (217, 427),
    "si": (59, 119),
    "ucb": (877, 1705),
    "ucl": (225, 525),
}
NETWORKS = ("mlp", "alexnet")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", list(START))
def test_a_step_takes_a_third_fewer_operations_than_it_did(name: str, network: str) -> None:
    at_most = 2 * START[name][NETWORKS.index(network)] / 3
    if METHODS[name].family == "plain":  # PyTorch's own part of it cannot shrink
        at_most = max(at_most, bare_step(network).total() + 3)
    assert counted_step(name, network).total() <= at_most
