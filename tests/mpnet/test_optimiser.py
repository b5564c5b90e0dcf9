"""Our Adam against PyTorch's: the same numbers, to the last bit."""

import math
import subprocess
import sys

import pytest
import torch
from torch import Tensor

from mpnet.optimiser import Adam, SecondMoment

RATES = [0.1, 0.03, 0.2, 0.01, 0.05]


def parameters() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), (2, 3, 4, 4)]
    made = [torch.randn(shape, generator=generator) for shape in shapes]
    made[2] = made[2].to(memory_format=torch.channels_last)
    return [parameter.requires_grad_() for parameter in made]


def set_gradients(parameters: list[Tensor], k: int) -> None:
    """Of every step; the second parameter has none in every other."""
    generator = torch.Generator().manual_seed(k)
    for i, parameter in enumerate(parameters):
        gradient = torch.randn(parameter.shape, generator=generator)
        parameter.grad = None if i == 1 and k % 2 else gradient


def stepped(optimiser: Adam, parameters: list[Tensor], steps: range) -> None:
    for k in steps:
        set_gradients(parameters, k)
        optimiser.step(RATES[k])


def test_it_moves_as_pytorchs_does() -> None:
    ours, theirs = parameters(), parameters()
    stepped(Adam(ours), ours, range(5))
    reference = torch.optim.Adam(theirs, fused=True)
    for k in range(5):
        set_gradients(theirs, k)
        reference.param_groups[0]["lr"] = RATES[k]
        reference.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_one_second_moment_for_a_tensor_is_adam_on_its_root_mean_square() -> None:
    ours = parameters()[:1]
    expected = ours[0].detach().double()
    stepped(Adam(ours, "tensor"), ours, range(5))
    mean, square = torch.zeros(3, 4, dtype=torch.float64), 0.0
    for k in range(5):
        set_gradients(ours, k)
        gradient = ours[0].grad.double()
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * float(gradient.square().mean())
        size = math.sqrt(square / (1 - 0.999 ** (k + 1)))
        expected = expected - RATES[k] * mean / (1 - 0.9 ** (k + 1)) / size
    torch.testing.assert_close(ours[0].detach().double(), expected, rtol=1e-5, atol=1e-6)


def test_for_single_numbers_both_second_moments_are_the_same() -> None:
    pairs = [[torch.randn(1, requires_grad=True) for _ in range(3)] for _ in range(2)]
    for a, b in zip(*pairs, strict=True):
        b.data.copy_(a.data)
    stepped(Adam(pairs[0], "tensor"), pairs[0], range(5))
    stepped(Adam(pairs[1]), pairs[1], range(5))
    torch.testing.assert_close(*pairs)


@pytest.mark.parametrize("second_moment", ["parameter", "tensor"])
def test_it_goes_on_from_its_state_as_if_never_stopped(second_moment: SecondMoment) -> None:
    whole, torn = parameters(), parameters()
    stepped(Adam(whole, second_moment), whole, range(5))
    first = Adam(torn, second_moment)
    stepped(first, torn, range(3))
    second = Adam(torn, second_moment)
    second.load_state_dict(first.state_dict())
    stepped(second, torn, range(3, 5))
    assert all(torch.equal(a, b) for a, b in zip(whole, torn, strict=True))


def test_gradients_are_forgotten() -> None:
    made = parameters()
    set_gradients(made, 0)
    Adam(made).zero_grad()
    assert all(parameter.grad is None for parameter in made)


def test_a_run_does_not_import_the_compiler() -> None:
    code = (
        "import sys; from mpnet.config import parse_run; from mpnet.continual import run;"
        "run(parse_run({'benchmark': {'name': 'digits'}, 'epochs': 1}));"
        "print('torch._dynamo' in sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert found.stdout.split() == ["False"]
