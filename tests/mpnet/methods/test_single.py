"""Every task alone: what a task comes to does not depend on the others."""

import numpy as np
import pytest
import torch

from mpnet import contract
from mpnet.continual import run
from tests.mpnet.conftest import digits_run, trained


@pytest.mark.parametrize("batch_norm", [False, True, "frozen", "per_task"])
def test_nothing_is_forgotten_to_the_last_bit(batch_norm: object) -> None:
    network = {**contract.NORMED, "batch_norm": batch_norm}
    R = run(digits_run("single", network=network)).R
    assert np.array_equal(np.tril(R), np.tril(np.broadcast_to(np.diag(R), R.shape)))


def test_the_first_task_is_that_of_fine_tuning() -> None:
    alone, tuned = trained(digits_run("single"), 1), trained(digits_run("ft"), 1)
    pairs = zip(alone.trunk(), tuned.trunk(), strict=True)
    assert all(torch.equal(a.mean, b.mean) and torch.equal(a.rho, b.rho) for a, b in pairs)


def test_every_task_starts_from_a_network_that_has_learnt_nothing() -> None:
    config = digits_run("single")
    torch.manual_seed(config.seed)
    fresh = [p.mean for p in config.build_method(config.build_stream()).trunk()]
    after = trained(config, 1)
    after.begin_task(1)
    assert all(torch.equal(a, b.mean) for a, b in zip(fresh, after.trunk(), strict=True))
