"""Launches to try: most of them are good ones, some have something wrong in one place or more."""

import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**40, -(10**400), 2**63, 0, -1]),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(-2, 2), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
RAW = st.sampled_from(
    ["[", "{", "0x_", "2026-13-45", "!!int x", "!!timestamp x", "!!bool x", "&a [*a]", "*x", "<<"]
    + ["9" * 500, "[" * 200, "? x", "=", "!!binary x", "!!set {a}", "\t", "1e999", "~", "''"]
)
METHODS = ["ft", "ff", "jt", "lra", "ppbi", "ewc", "si", "mas", "plain_ft", "hat", "bbb", "ucl"]


class Launch(NamedTuple):
    """What is typed, written and set."""

    file: str
    overrides: list[str]
    output: str
    environment: dict[str, str]


def _grid(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.lists(values, min_size=1, max_size=4, unique=True)
    return st.builds(lambda kind, some: {kind: some}, st.sampled_from(["grid", "choice"]), lists)


def _range(kind: str, low: float, high: float) -> st.SearchStrategy[dict[str, Any]]:
    ends = st.lists(st.floats(low, high), min_size=2, max_size=2, unique=True).map(sorted)
    return ends.map(lambda pair: {kind: pair})


DOMAINS = {
    "training.learning_rate": _range("log_uniform", 1e-6, 1.0),
    "training.warmup_steps": _grid(st.integers(0, 50)),
    "training.decay": st.just({"choice": ["none", "cosine"]}),
    "layers.rho": _range("uniform", -12.0, -1.0),
    "network.dropout": _grid(st.floats(0, 0.9)),
    "benchmark.n_tasks": st.just({"grid": [2, 5]}),
    "epochs": st.integers(2, 9).map(lambda n: {"int": [1, n]}),
}


@st.composite
def good_blocks(draw: st.DrawFn) -> dict[str, Any]:
    """The blocks of a file without a fault."""
    name = draw(st.sampled_from(METHODS))
    run: dict[str, Any] = {
        "benchmark": {"name": "digits"},
        "network": {"name": "mlp", "hidden": draw(st.lists(st.integers(1, 20), min_size=1))[:3]},
        "method": {"name": name},
        "training": {"batch_size": draw(st.integers(20, 2000))},
    }
    paths = draw(st.lists(st.sampled_from(sorted(DOMAINS)), unique=True, max_size=4))
    if name not in ("ft", "ff", "jt", "lra", "ppbi"):
        paths = [path for path in paths if path != "layers.rho"]
    space = {path: draw(DOMAINS[path]) for path in paths}
    samplers = ["random", "tpe", "auto", "nsga2"] if space else ["random"]
    sweep = {"sampler": draw(st.sampled_from(samplers)), "trials": draw(st.integers(1, 99))}
    select = {"top": draw(st.integers(0, 20)), "seeds": draw(st.integers(1, 4))}
    return {"run": run, "space": space, "sweep": sweep, "select": select}


GOOD_OVERRIDES = st.sampled_from(
    ["run.epochs=3", "sweep.trials=7", "sweep.repeats=2", "select.top=0", "run.seed=3"]
    + ["sweep.objective=[acc, bwt]", "run.training.precision=float32", "sweep.hours=1"]
)
KEYS = st.sampled_from(
    ["run.epochs", "run.seed", "run.method", "run.network.hidden", "run.benchmark.name", "sweep.x"]
    + ["sweep.trials", "sweep.objective", "sweep.first", "sweep.warm_start", "select.each"]
    + ["space.epochs", "space.method.name", "space", "run", "plugins", "sweep.resources"]
)
BAD_OVERRIDES = st.one_of(
    st.builds(lambda key, raw: f"{key}={raw}", KEYS, RAW),
    st.builds(lambda key, value: f"{key}={json.dumps(value)}", KEYS, NASTY),
    st.text(min_size=1, max_size=9).filter(lambda text: not text.startswith("-")),
)
BAD_OUTPUTS = st.sampled_from(
    ["file", "file/below", "/dev/null", "/proc/x", "x" * 300, "loop", "dangling", ":x:/[y]"]
)
BAD_ENVIRONMENTS = st.one_of(
    st.sampled_from(["garbage", ":6379", "ray://x", "127.0.0.1:9", "127.0.0.1:1e9"]).map(
        lambda text: {"RAY_ADDRESS": text}
    ),
    st.sampled_from(["/dev/null", "/proc/x", "loop", "nowhere"]).map(
        lambda text: {"MPNET_DATA": text}
    ),
    st.sampled_from(["garbage", "http://127.0.0.1:9", "sqlite:///x", "://", "sqlite:"]).map(
        lambda text: {"MLFLOW_TRACKING_URI": text}
    ),
)


@st.composite
def launches(draw: st.DrawFn) -> Launch:
    """A launch of which three in four have nothing wrong."""
    blocks = draw(good_blocks())
    overrides = draw(st.lists(GOOD_OVERRIDES, max_size=2))
    text, output, environment = json.dumps(blocks), "out", dict[str, str]()
    wrong = draw(st.sampled_from(["", "", "", "", "", "", "override", "block", "output", "world"]))
    if wrong == "override":
        overrides += draw(st.lists(BAD_OVERRIDES, min_size=1, max_size=3))
    elif wrong == "block":
        block, value = draw(st.sampled_from(sorted(blocks))), draw(NASTY)
        key = draw(st.sampled_from([None, "name", "training", "epochs", "sampler", "top", "x.y"]))
        text = json.dumps({**blocks, block: value if key is None else {key: value}})
    elif wrong == "output":
        output = draw(BAD_OUTPUTS)
    elif wrong == "world":
        environment = draw(BAD_ENVIRONMENTS)
    return Launch(text, overrides, output, environment)
