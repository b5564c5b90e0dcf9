"""One training step of a moment network against its deterministic twin and Bayes-by-backprop.

    python -m tests.performance.step --network mlp
    python -m tests.performance.step --network alexnet --repeats 9
    python -m tests.performance.step --count                         # no times: operations

Batch 500, fused Adam, KL included; timed interleaved in one process, medians. Memory is the growth
of the resident set in a process of its own. Prints a table and one JSON line: `ratio` and
`memory_ratio` are ours over the twin's (at most 3 wanted), `bbb10_speedup` is the time of Bayes by
backprop with ten samples as it is published over ours, `lean_bbb10_speedup` that of our own `bbb`,
whose KL gradient is in closed form. With `--count` nothing is timed: the operations of a step of
every method are counted instead, which bound a small network on a GPU.
"""

import argparse
import json
import multiprocessing
import re
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from mpnet.allocator import keep_freed_memory
from mpnet.layers import LayerFamily
from mpnet.layers.moment import (
    MomentLayers,
    add_kl_gradient,
    gaussian_parameters,
    shared_variances,
    validation,
)
from mpnet.layers.plain import PlainLayers
from mpnet.layers.sampled import SampledLayers
from mpnet.methods import METHODS
from mpnet.methods.bbb import BayesByBackprop
from mpnet.networks import Network, build_network
from tests.performance import _counting
from tests.performance._timing import Step, interleaved_medians

SHAPES = {"mlp": (1, 28, 28), "alexnet": (3, 32, 32)}
N_CLASSES = 10
N_SAMPLES = 10
TAU = 1e-6


def batch(network: str, size: int) -> tuple[Tensor, Tensor]:
    """Random images and labels of the size that the network takes."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(size, *SHAPES[network], generator=generator)
    return images, torch.randint(N_CLASSES, (size,), generator=generator)


def build(network: str, layers: LayerFamily, x: Tensor) -> tuple[Network, torch.optim.Optimizer]:
    """A fresh network where the batch is, and its optimiser."""
    torch.manual_seed(0)
    model = build_network(network, layers, SHAPES[network], [N_CLASSES]).to(x.device)
    return model, torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)


def moment_step(network: str, x: Tensor, y: Tensor) -> Step:
    """The step that `mpnet.training` takes."""
    layers = MomentLayers()
    model, optimiser = build(network, layers, x)
    members = gaussian_parameters(model)

    def step() -> None:
        optimiser.zero_grad()
        with shared_variances(), validation(False):
            layers.nll(model(x, 0), y).backward()
            add_kl_gradient(members, TAU)
        optimiser.step()

    return step


def twin_step(network: str, x: Tensor, y: Tensor) -> Step:
    """The same architecture on torch.nn, channels last, cross-entropy."""
    layers = PlainLayers()
    model, optimiser = build(network, layers, x)

    def step() -> None:
        optimiser.zero_grad()
        layers.nll(model(x, 0), y).backward()
        optimiser.step()

    return step


def bbb_step(network: str, x: Tensor, y: Tensor) -> Step:
    """Bayes by backprop as published: autograd through the likelihood and KL of ten draws."""
    layers, model, optimiser, method = _sampled(network, x)

    def step() -> None:
        optimiser.zero_grad()
        (layers.nll(model(x, 0), y) + method.penalty(0)).backward()
        optimiser.step()

    return step


def lean_bbb_step(network: str, x: Tensor, y: Tensor) -> Step:
    """The step that `mpnet.training` takes with method bbb: the KL's gradient in closed form."""
    layers, model, optimiser, method = _sampled(network, x)

    def step() -> None:
        optimiser.zero_grad()
        layers.nll(model(x, 0), y).backward()
        method.add_penalty_gradient(0)
        optimiser.step()

    return step


def _sampled(
    network: str, x: Tensor
) -> tuple[SampledLayers, Network, torch.optim.Optimizer, BayesByBackprop]:
    layers = SampledLayers(samples=N_SAMPLES)
    model, optimiser = build(network, layers, x)
    return layers, model, optimiser, BayesByBackprop(model, tau=TAU)


STEPS = {
    "moment": moment_step,
    "twin": twin_step,
    "bbb10": bbb_step,
    "lean_bbb10": lean_bbb_step,
}
BBB = ("bbb10", "lean_bbb10")


def peak_megabytes(name: str, network: str, size: int) -> float:
    """Growth of the resident set over three steps, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure_peak, (name, network, size))


def _measure_peak(name: str, network: str, size: int) -> float:
    keep_freed_memory()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is the parent's
    before = _resident_kilobytes("VmRSS")
    step = STEPS[name](network, *batch(network, size))
    for _ in range(3):
        step()
    return (_resident_kilobytes("VmHWM") - before) / 1024


def _resident_kilobytes(field: str) -> int:
    match = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1])


def main() -> None:
    """Measure, print a table and a JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--network", choices=sorted(SHAPES), default="mlp")
    parser.add_argument("--batch-size", type=int, default=500)
    parser.add_argument("--repeats", type=int, help="rounds (default 41 for mlp, 9 for alexnet)")
    parser.add_argument("--count", action="store_true", help="count operations, of all methods")
    options = parser.parse_args()
    if options.count:
        counts = _counting.report(options.network, list(METHODS))
        print(json.dumps({"network": options.network, "operations": counts}))
        return
    repeats = options.repeats or (41 if options.network == "mlp" else 9)
    memory = {
        name: peak_megabytes(name, options.network, options.batch_size)
        for name in ("moment", "twin")
    }
    keep_freed_memory()
    x, y = batch(options.network, options.batch_size)
    pair = {name: STEPS[name](options.network, x, y) for name in ("twin", "moment")}
    seconds = interleaved_medians(pair, repeats)
    versus = {name: STEPS[name](options.network, x, y) for name in BBB}
    versus["moment"] = pair["moment"]
    rivals = interleaved_medians(versus, max(repeats // 8, 3))
    report(options, seconds, rivals, memory)


def report(
    options: argparse.Namespace,
    seconds: dict[str, float],
    rivals: dict[str, float],
    memory: dict[str, float],
) -> None:
    """A table for people and a line for machines."""
    table = Table(title=f"{options.network}, batch {options.batch_size}: one training step")
    for column in ("", "milliseconds", "memory, MB"):
        table.add_column(column, justify="right")
    for name in ("twin", "moment"):
        table.add_row(name, f"{1e3 * seconds[name]:.1f}", f"{memory[name]:.0f}")
    for name in BBB:
        table.add_row(name, f"{1e3 * rivals[name]:.1f}", "")
    Console().print(table)
    figures = {
        "network": options.network,
        "ratio": round(seconds["moment"] / seconds["twin"], 3),
        **{f"{name}_speedup": round(rivals[name] / rivals["moment"], 2) for name in BBB},
        "memory_ratio": round(memory["moment"] / memory["twin"], 2),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
