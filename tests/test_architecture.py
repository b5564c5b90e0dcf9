"""Who imports whom, and who prints: read from the source, not from running it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path.relative_to(ROOT) for name in ("mpnet", "sweeper") for path in (ROOT / name).rglob("*.py")
)
MPNET_FILES = [path for path in FILES if path.parts[0] == "mpnet"]

# Where a package may be imported; below a folder means anywhere in it.
ALLOWED = {
    "torch": ["mpnet/"],
    "torchvision": ["mpnet/datasets/"],
    "mpnet": [
        "mpnet/",
        "sweeper/analysis.py",
        "sweeper/binding.py",
        "sweeper/recording.py",
        "sweeper/trial.py",
    ],
    "sweeper": ["sweeper/"],
    "ray": ["sweeper/cluster.py", "sweeper/nodes.py", "sweeper/trial.py", "sweeper/tuner.py"],
    "optuna": [
        "sweeper/samplers.py",
        "sweeper/ledger.py",
        "sweeper/study.py",
        "sweeper/report/studies.py",  # its plots, from a study in memory
    ],
    "mlflow": ["sweeper/tracking/"],
    "plotly": ["sweeper/report/"],
    "matplotlib": ["mpnet/analysis/", "sweeper/pictures.py", "sweeper/forest.py"],
}

# Inside mpnet imports point left only; whatever stands in one group may import from that group.
GROUPS = [
    [
        "errors",
        "registry",
        "gaussian",
        "metrics",
        "selectivity",
        "allocator",
        "machine",
        "optimiser",
    ],
    ["layers", "datasets", "importance"],
    ["networks", "benchmarks"],
    ["methods"],
    ["config", "training", "checkpoint"],
    ["continual", "results", "cost"],
    ["analysis"],
    ["__init__"],
    ["__main__"],
]
PLACE = {name: place for place, group in enumerate(GROUPS) for name in group}

every_file = pytest.mark.parametrize("path", FILES, ids=str)
every_mpnet_file = pytest.mark.parametrize("path", MPNET_FILES, ids=str)


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file below the root."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Full dotted names of all that is imported anywhere in a file of `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imports_of(path: Path) -> list[str]:
    """Full dotted names of all that a file below the root imports."""
    return list(imported(parsed(path), ".".join(path.parent.parts)))


def part_of_mpnet(dotted: str) -> str:
    """The top-level part of mpnet that a dotted name belongs to; __init__ for its public names."""
    part = dotted.split(".")[1] if "." in dotted else "__init__"
    is_module = (ROOT / "mpnet" / f"{part}.py").exists() or (ROOT / "mpnet" / part).is_dir()
    return part if part in PLACE or is_module else "__init__"


def forbidden_imports(path: Path, names: list[str]) -> list[str]:
    """Those of the imported names that have no business in this file."""
    places = [(name, ALLOWED.get(name.split(".")[0])) for name in names]
    return [n for n, a in places if a is not None and not path.as_posix().startswith(tuple(a))]


def imports_to_the_right(path: Path, names: list[str]) -> list[str]:
    """Those of the imported names that stand right of this file of mpnet."""
    own = PLACE[part_of_mpnet(".".join(path.with_suffix("").parts))]
    inside = [name for name in names if name.split(".")[0] == "mpnet"]
    return [name for name in inside if PLACE[part_of_mpnet(name)] > own]


def test_there_is_something_to_read() -> None:
    assert Path("mpnet/gaussian.py") in FILES


@every_file
def test_a_foreign_package_is_imported_only_where_it_belongs(path: Path) -> None:
    assert forbidden_imports(path, imports_of(path)) == []


@every_mpnet_file
def test_every_part_of_mpnet_has_a_place_in_the_order(path: Path) -> None:
    assert Path(path.parts[1]).stem in PLACE


@every_mpnet_file
def test_imports_inside_mpnet_point_left(path: Path) -> None:
    assert imports_to_the_right(path, imports_of(path)) == []


@every_file
def test_only_the_command_lines_print(path: Path) -> None:
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    lines = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
    assert lines == [] or path.name in ("__main__.py", "launch.py")


# The reader itself


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import torch.nn as nn, ray", ["torch.nn", "ray"]),
        ("from mpnet import gaussian", ["mpnet.gaussian"]),
        ("from mpnet.layers.moment import Linear as L", ["mpnet.layers.moment.Linear"]),
        ("from . import linear", ["mpnet.layers.linear"]),
        ("from ..gaussian import kl", ["mpnet.gaussian.kl"]),
        ("def f():\n    import optuna", ["optuna"]),
    ],
)
def test_imports_are_read_in_every_form(source: str, names: list[str]) -> None:
    assert list(imported(ast.parse(source), "mpnet.layers")) == names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("mpnet/networks/mlp.py", "torchvision.models"),
        ("mpnet/continual.py", "ray"),
        ("mpnet/methods/lra.py", "sweeper.space"),
        ("sweeper/selector.py", "torch"),
        ("sweeper/launch.py", "mpnet.RunConfig"),
        ("sweeper/trial.py", "mlflow"),
    ],
)
def test_a_forbidden_import_is_found(path: str, name: str) -> None:
    assert forbidden_imports(Path(path), ["math", name]) == [name]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("mpnet/layers/plain.py", "mpnet.networks.Network"),
        ("mpnet/gaussian.py", "mpnet.layers"),
        ("mpnet/methods/lra.py", "mpnet.training.train_task"),
        ("mpnet/networks/mlp.py", "mpnet.run"),
        ("mpnet/__init__.py", "mpnet.__main__"),
    ],
)
def test_an_import_to_the_right_is_found(path: str, name: str) -> None:
    assert imports_to_the_right(Path(path), ["torch", "mpnet.errors", name]) == [name]
