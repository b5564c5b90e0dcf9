"""Literal records of a made-up sweep, and a reader of pages."""

from html.parser import HTMLParser
from typing import Any

import plotly.offline

from sweeper.config.space import with_values
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.results.records import Matrix, Rerun, RerunRecord, State, TrialRecord

HOSTILE = "<script>alert('x')</script> | </td> `code` {{ 7 * 7 }}"
SPACE: dict[str, Any] = {
    "method.name": {"choice": ["lra", "ppbi"]},
    "method.alpha_max": {"log_uniform": [1.0e-5, 1.0e-3], "when": {"method.name": "lra"}},
    "method.tau_max": {"log_uniform": [1.0e-7, 1.0e-2], "when": {"method.name": "ppbi"}},
    "method.tau_0": {"grid": [1.0e-8, 1.0e-6, 1.0e-4]},
    "layers.rho": {"grid": [-10, -14, -18]},
    "layers.is_noisy": {"choice": [True, False, None]},
}
R_A: Matrix = [[0.90, None], [0.80, 0.96]]  # acc 0.88, bwt -0.05
R_B: Matrix = [[0.94, None], [0.90, 0.98]]  # acc 0.94, bwt -0.02


RUN: dict[str, Any] = {
    "benchmark": {"name": "split_mnist", "n_tasks": 2},
    "method": {"name": "lra", "measure": "var"},
    "training": {"epochs": 3, "batch_size": 500},
}


def sweep_of(space: dict[str, Any] = SPACE, **settings: Any) -> Sweep:
    blocks = {
        "run": RUN,
        "space": space,
        "sweep": {"sampler": "random", **settings},
    }
    return parse_sweep(blocks, "lra_or_ppbi")


def values_of(number: int) -> dict[str, Any]:
    own = {"method.alpha_max": 1e-5 * (1 + number % 90)}
    other = {"method.tau_max": 1e-6 * (1 + number)}
    is_lra = number % 3 != 0
    return {
        "method.name": "lra" if is_lra else "ppbi",
        **(own if is_lra else other),
        "method.tau_0": (1e-8, 1e-6, 1e-4)[number % 3],
        "layers.rho": (-10, -14, -18)[number // 3 % 3],
        "layers.is_noisy": (True, False, None)[number % 3],
    }


def finished(
    number: int, acc: float, bwt: float, R: tuple[Matrix, ...] = (R_A,), **changes: Any
) -> TrialRecord:
    n_steps = 3 * len(R[0])
    curve = [[float(step), 1.0 / (1 + step), 0.5 + 0.05 * step] for step in range(n_steps)]
    values = changes.get("values", values_of(number))
    content: dict[str, Any] = {
        "values": values,
        "run": with_values(RUN, values),
        "metrics": {"acc": acc, "bwt": bwt, "forgetting": -bwt},
        "seeds": tuple(range(len(R))),
        "R": R,
        "curves": (curve,) * len(R),
        "seconds": 60.0 + number,
    }
    content = {"number": number, "key": f"key{number}", "state": "finished", **content}
    return TrialRecord(**{**content, **changes})


def unfinished(number: int, state: State, **changes: Any) -> TrialRecord:
    values = values_of(number)
    content: dict[str, Any] = {"values": values, "run": with_values(RUN, values), **changes}
    return TrialRecord(number=number, key=f"key{number}", state=state, **content)


def failed(number: int, reason: str) -> TrialRecord:
    return unfinished(number, "failed", reason=reason)


def rerun(
    number: int, configuration: int, seed: int, acc: float, bwt: float, **changes: Any
) -> RerunRecord:
    content: dict[str, Any] = {
        "number": number,
        "key": "t",
        "state": "finished",
        "rerun": Rerun(configuration, seed),
        "run": {**with_values(RUN, values_of(configuration)), "split": "test", "seed": seed},
        "metrics": {"acc": acc, "bwt": bwt},
        "seeds": (seed,),
        "R": (R_B,),
        "seconds": 30.0,
    }
    return RerunRecord(**{**content, **changes})


def order_rerun(
    number: int,
    configuration: int,
    seed: int,
    class_order: int,
    acc: float,
    bwt: float = 0.0,
    **changes: Any,
) -> RerunRecord:
    """A rerun on a class order that the search has not seen."""
    wanted = Rerun(configuration, seed, class_order)
    return rerun(number, configuration, seed, acc, bwt, **{"rerun": wanted, **changes})


def failed_rerun(number: int, configuration: int, seed: int, reason: str) -> RerunRecord:
    wanted = Rerun(configuration, seed)
    return RerunRecord(number=number, key="t", state="failed", rerun=wanted, reason=reason)


def selective(held: float, free: float, selectivity: float, warning: str = "") -> dict[str, Any]:
    shares = {"held": held, "free": free, "selectivity": selectivity}
    return {**shares, "freedom_q50": 0.5, "warning": warning or None}


TRIALS = [
    finished(0, 0.88, -0.05),
    finished(1, 0.91, -0.035, R=(R_A, R_B)),
    finished(2, 0.94, -0.02, R=(R_B,)),
    finished(3, 0.80, -0.01),
    finished(4, 0.85, -0.03),
    failed(5, f"Diverged: {HOSTILE}"),
    failed(6, f"Diverged: {HOSTILE}"),
    failed(7, "OutOfMemory"),
    unfinished(8, "stopped", seconds=10.0),
    unfinished(9, "running"),
]
TESTS = [
    rerun(0, 2, 100, 0.93, -0.02),
    rerun(1, 2, 101, 0.95, -0.04),
    rerun(2, 2, 102, 0.97, -0.06),
    rerun(3, 1, 100, 0.90, -0.01),
    failed_rerun(4, 1, 101, "OutOfMemory"),
]
ABOUT = {"commit": "0123abc", HOSTILE: HOSTILE}


class Page(HTMLParser):
    """Reads a page: its tags, its visible text, and whether every tag is closed."""

    VOID = {"meta", "link", "br"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.is_balanced = True
        self.feed(text.replace(plotly.offline.get_plotlyjs(), ""))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.is_balanced &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> set[str | None]:
        return {attributes.get("id") for _, attributes in self.tags}
