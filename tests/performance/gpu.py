"""All that is to be known of a GPU, in one command: for the first who has one.

    ./run python -m tests.performance.gpu
    ./run python -m tests.performance.gpu --seconds 2      # shorter and rougher

For MLP and AlexNet: a moment step against its deterministic twin and Bayes by backprop with ten
samples, a step as a CUDA graph against single operations, memory of a trial and how busy it keeps
the GPU, steps a second with 1, 2 and 4 trials side by side (`resources.gpu: 1, 0.5, 0.25`). Then a
sweep of four trials, and whether an interrupted run ends with the weights of one that was not.
Prints a table, one JSON line, and writes both to a file to paste into an issue. Never run so far:
nobody here had a GPU.
"""

import argparse
import io
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig, parse_run
from mpnet.continual import run
from mpnet.environment import environment
from mpnet.machine import name_of
from mpnet.training import EpochReport, TaskTrainer, TrainingSettings, batches
from tests.performance._timing import Step, interleaved_medians
from tests.performance.rivals import BATCH, SHAPES, made_up_stream
from tests.performance.step import STEPS, batch

SIDE_BY_SIDE = (1, 2, 4)
DIGITS = {"name": "mlp", "hidden": [200, 200]}


def waiting(step: Step, device: torch.device) -> Step:
    """A step that is over when it returns."""

    def waited() -> None:
        step()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return waited


def step_ratios(network: str, device: torch.device, repeats: int) -> dict[str, float]:
    """A moment step over its twin's, and Bayes by backprop's over ours."""
    x, y = (part.to(device) for part in batch(network, BATCH))
    steps = {name: waiting(make(network, x, y), device) for name, make in STEPS.items()}
    seconds = interleaved_medians(steps, repeats)
    ours = seconds["moment"]
    return {
        "moment_ms": 1e3 * ours,
        "over_twin": ours / seconds["twin"],
        "bbb10_over_ours": seconds["bbb10"] / ours,
        "lean_bbb10_over_ours": seconds["lean_bbb10"] / ours,
    }


def trainer_of(network: str, device: torch.device, cuda_graph: str = "auto") -> TaskTrainer:
    """The second task of LRA on made-up images."""
    raw = {"network": {"name": network}, "method": {"name": "lra"}}
    stream = made_up_stream(SHAPES[network]).to(device)
    method = parse_run(raw).build_method(stream).to(device)
    method.alpha.fill_(1e-4)
    settings = TrainingSettings(epochs=1000, cuda_graph=cuda_graph)
    return TaskTrainer(method, stream, 1, settings)


def training_step(trainer: TaskTrainer) -> Step:
    """A step of the training loop, with a batch that is there already."""
    generator = torch.Generator().manual_seed(0)
    given = next(batches(trainer.course.stream, trainer.tasks, BATCH, generator))
    return lambda: trainer.train_step(given)


def captured(network: str, device: torch.device, repeats: int) -> dict[str, float]:
    """A step as single operations over one as a whole."""
    steps = {}
    for asked in ("off", "auto"):
        steps[asked] = waiting(training_step(trainer_of(network, device, asked)), device)
        for _ in range(6):  # so that it is recorded
            steps[asked]()
    seconds = interleaved_medians(steps, repeats)
    return {
        "eager_ms": 1e3 * seconds["off"],
        "captured_ms": 1e3 * seconds["auto"],
        "eager_over_captured": seconds["off"] / seconds["auto"],
    }


def _count_steps(job: tuple[str, str, float, float]) -> int:
    """The steps of a process until a time by the clock on the wall."""
    network, device, start, seconds = job
    step = training_step(trainer_of(network, torch.device(device)))
    for _ in range(6):
        step()
    time.sleep(max(0.0, start - time.time()))
    n = 0
    while time.time() < start + seconds:
        step()
        waiting(lambda: None, torch.device(device))()
        n += 1
    return n


def side_by_side(network: str, device: torch.device, seconds: float) -> dict[str, float]:
    """Steps a second of 1, 2 and 4 processes together."""
    context, found = multiprocessing.get_context("spawn"), {}
    for n in SIDE_BY_SIDE:
        with context.Pool(n) as pool:
            start = time.time() + 30  # all of them are ready by then
            jobs = [(network, str(device), start, seconds)] * n
            found[f"steps_a_second_with_{n}"] = sum(pool.map(_count_steps, jobs, 1)) / seconds
    return found


def needs(network: str) -> dict[str, float]:
    """Memory and time that a trial takes of a GPU, as `resources.gpu: auto` measures them."""
    from mpnet.cost import measured_need
    from sweeper.driver.cluster import trials_per_gpu

    benchmark = {"name": "digits"} if network == "mlp" else {"name": "split_cifar10", "n_tasks": 2}
    raw = {"benchmark": benchmark, "network": {"name": network}, "method": {"name": "lra"}}
    need = measured_need(parse_run(raw))
    if need is None:
        return {}
    shared = float(trials_per_gpu(*need))
    return {"memory_share": need.memory, "busy_share": need.busy, "trials_per_gpu": shared}


def digits_run(device: torch.device, cuda_graph: str = "auto") -> RunConfig:
    """PPBI on two tasks of five digits, with a batch norm and random masks."""
    raw = {
        "benchmark": {"name": "digits", "n_tasks": 2},
        "network": {"name": "mlp", "hidden": [32], "batch_norm": True, "dropout": 0.2},
        "method": {"name": "ppbi"},
        "training": {"epochs": 2, "batch_size": 40, "cuda_graph": cuda_graph},
        "device": device.type,
    }
    return parse_run(raw)


class _Stopped(Exception):
    """Stands for a kill between two epochs."""


def _stop_at(n_epochs: int) -> Callable[[EpochReport], None]:
    seen: list[EpochReport] = []

    def stop(report: EpochReport) -> None:
        seen.append(report)
        if len(seen) == n_epochs:
            raise _Stopped

    return stop


def final_state(config: RunConfig, folder: Path, stop_after: int | None) -> dict[str, Any]:
    """The weights at the end of a run, interrupted after so many epochs or not."""
    checkpoints = Checkpoints(folder, every_epochs=1)
    if stop_after is not None:
        try:
            run(config, on_epoch_end=_stop_at(stop_after), checkpoints=checkpoints)
        except _Stopped:
            pass
    run(config, checkpoints=checkpoints)
    state: dict[str, Any] = torch.load(checkpoints.path, map_location="cpu", weights_only=True)
    return dict(state["method"])


def equalities(device: torch.device) -> dict[str, float]:
    """1 where all weights are the same, bit for bit: resumed runs, and steps as graphs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = final_state(digits_run(device), folder / "whole", None)
        parts = final_state(digits_run(device), folder / "parts", 3)
        eager = final_state(digits_run(device, "off"), folder / "eager", None)

    def is_equal(other: dict[str, Any]) -> float:
        return float(all(torch.equal(value, other[key]) for key, value in whole.items()))

    return {"resumed_equals_whole": is_equal(parts), "eager_equals_captured": is_equal(eager)}


def sweep_of_four(resources: dict[str, Any]) -> dict[str, float]:
    """Seconds of a sweep of four trials and no reruns, Ray's start included."""
    from sweeper.config.sweep import parse_sweep
    from sweeper.driver.launching import launch
    from sweeper.driver.preparation import Options
    from sweeper.ledger import open_ledger

    blocks = {
        "run": {"network": DIGITS, "method": {"name": "ppbi"}, "training": {"epochs": 5}},
        "space": {"method.tau_max": {"grid": [1e-7, 1e-6, 1e-5, 1e-4]}},
        "sweep": {"sampler": "grid", "resources": resources},
        "select": {"top": 0},
    }
    with tempfile.TemporaryDirectory() as folder:
        start, said = time.perf_counter(), io.StringIO()
        code = launch([parse_sweep(blocks, "four")], Options(Path(folder)), Console(file=said))
        seconds = time.perf_counter() - start
        assert code == 0, said.getvalue()
        trials = open_ledger(Path(folder)).trial_records()
    return {"sweep_seconds": seconds, "finished": sum(t.state == "finished" for t in trials)}


def measured(device: torch.device, seconds: float, repeats: int) -> dict[str, dict[str, float]]:
    """All figures, by network and for the whole."""
    found: dict[str, dict[str, float]] = {}
    for network in SHAPES:
        found[network] = {
            **step_ratios(network, device, repeats),
            **captured(network, device, repeats),
            **needs(network),
            **side_by_side(network, device, seconds),
        }
    whole = {**equalities(device), **sweep_of_four({} if device.type == "cuda" else {"gpu": 0})}
    return {**found, "digits": whole}


def report(found: dict[str, dict[str, float]], about: dict[str, Any], file: Path) -> str:
    """A table and a JSON line, on the terminal and in a file; gives the line."""
    table = Table(title=f"{about['device']}, PyTorch {about['torch']}")
    for column in ("", "figure", "value"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for part, figures in found.items():
        for name, value in figures.items():
            table.add_row(part, name, f"{value:.4g}")
    line = json.dumps({**about, **found})
    text = io.StringIO()
    Console(file=text, width=100).print(table)
    file.write_text(f"```\n{text.getvalue()}{line}\n```\n")
    Console().print(table)
    return line


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; or say why not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each round side by side")
    parser.add_argument("--repeats", type=int, default=41, help="rounds of steps")
    parser.add_argument("--output", type=Path, default=Path("gpu.md"), help="what to paste")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("tests.performance.gpu: PyTorch must see a GPU, but sees none.", file=sys.stderr)
        print("See `nvidia-smi`, and install a PyTorch with CUDA.", file=sys.stderr)
        return 2
    device = torch.device("cuda", 0)
    about = {"device": name_of(device), "torch": torch.__version__, **environment()}
    print(report(measured(device, options.seconds, options.repeats), about, options.output))
    print(f"Please paste {options.output} into an issue: it is the first of its kind.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
