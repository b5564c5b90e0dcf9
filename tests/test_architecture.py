"""Who imports whom, and who prints: read from the source, not from running it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path.relative_to(ROOT) for name in ("mpnet", "sweeper") for path in (ROOT / name).rglob("*.py")
)
SWEEPER_FILES = [path for path in FILES if path.parts[0] == "sweeper"]

# Where a package may be imported; below a folder means anywhere in it.
ALLOWED = {
    "torch": ["mpnet/"],
    "torchvision": ["mpnet/datasets/"],
    "sweeper": ["sweeper/"],
    "ray": ["sweeper/driver/", "sweeper/execution/trial.py"],
    "optuna": ["sweeper/ledger/"],
    "mlflow": ["sweeper/tracking/"],
    "plotly": ["sweeper/report/"],
    "matplotlib": [
        *("mpnet/analysis/", "mpnet/pictures.py"),
        *("sweeper/report/forest.py", "sweeper/report/tree.py"),
    ],
    "pandas": ["sweeper/recorded.py"],
}

# Modules of the sweep service without a test file of their name: what tests them lies there.
TESTED_ELSEWHERE = {
    "sweeper/commands/_words.py": "commands/test_commands.py",
    "sweeper/commands/list.py": "commands/test_status.py",
    **{
        f"sweeper/commands/{name}.py": "driver/test_desk.py"
        for name in ("pause", "resume", "stop")
    },
    "sweeper/errors.py": "commands/test_commands.py",
    "sweeper/report/status.py": "commands/test_status.py",
    "sweeper/tracking/target.py": "tracking/test_tracking.py",
}

# What the sweep service may use of mpnet everywhere: it brings no PyTorch. The rest is for
# those who bind runs or train them.
LIGHT = (
    "mpnet.command_line",
    "mpnet.environment",
    "mpnet.errors",
    "mpnet.metrics",
    "mpnet.reading",
    "mpnet.registry",
)
BINDING = ("sweeper/driver/binding.py", "sweeper/execution/", "sweeper/commands/analysis.py")

# Inside a package imports point left only; what stands in one group may import from that group.
MPNET = [
    [
        "command_line",
        "environment",
        "errors",
        "pictures",
        "plugins",
        "reading",
        "registry",
        "gaussian",
        "metrics",
        "selectivity",
        "allocator",
        "machine",
        "optimiser",
        "schedule",
        "capture",
    ],
    ["layers", "datasets", "importance"],
    ["networks", "benchmarks"],
    ["methods"],
    ["evaluation"],
    ["config", "features", "training", "checkpoint"],
    ["first_tasks"],
    ["continual", "results", "cost"],
    ["analysis", "contract", "device_contract"],
    ["check"],
    ["__init__"],
    ["__main__"],
]
SWEEPER = [
    ["errors", "importing", "scratch", "waiting"],
    ["config"],
    ["results"],
    ["ledger"],
    ["tracking"],
    ["execution"],
    ["report"],
    ["driver"],
    ["recorded"],
    ["__init__"],
    ["commands"],
    ["launch", "__main__"],
]
PLACES = {
    package: {name: place for place, group in enumerate(groups) for name in group}
    for package, groups in (("mpnet", MPNET), ("sweeper", SWEEPER))
}
# Inside functions of sweeper/__init__.py: what is public costs nothing before it is used.
LAZY = {Path("sweeper/__init__.py")}

every_file = pytest.mark.parametrize("path", FILES, ids=str)


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


def part_of(dotted: str) -> str:
    """The top-level part of its package that a name belongs to; __init__ for public names."""
    package, _, rest = dotted.partition(".")
    part = rest.split(".")[0]
    folder = ROOT / package
    return part if (folder / f"{part}.py").exists() or (folder / part).is_dir() else "__init__"


def graph(package: str) -> str:
    """The parts of a package and who imports whom, as a Mermaid diagram."""
    edges = {
        (part_of(".".join(path.with_suffix("").parts)), part_of(name))
        for path in FILES
        for name in imports_of(path)
        if path.parts[0] == name.split(".")[0] == package
    }
    return "\n".join(["graph TD", *(f"  {a} --> {b}" for a, b in sorted(edges) if a != b)])


def forbidden_imports(path: Path, names: list[str]) -> list[str]:
    """Those of the imported names that have no business in this file."""
    places = [(name, ALLOWED.get(name.split(".")[0])) for name in names]
    return [n for n, a in places if a is not None and not path.as_posix().startswith(tuple(a))]


def heavy_imports(path: Path, names: list[str]) -> list[str]:
    """Those of the imported names that bring PyTorch into a file that is no binding."""
    own = [name for name in names if name.split(".")[0] == "mpnet"]
    light = tuple(f"{name}." for name in LIGHT) + LIGHT
    is_binding = path.as_posix().startswith(BINDING)
    return [] if is_binding else [name for name in own if not name.startswith(light)]


def imports_to_the_right(path: Path, names: list[str]) -> list[str]:
    """Those of the imported names that stand right of this file in its own package."""
    package = path.parts[0]
    places, own = PLACES[package], part_of(".".join(path.with_suffix("").parts))
    inside = [name for name in names if name.split(".")[0] == package]
    return [name for name in inside if places[part_of(name)] > places[own]]


def test_there_is_something_to_read() -> None:
    assert Path("mpnet/gaussian.py") in FILES


@every_file
def test_a_foreign_package_is_imported_only_where_it_belongs(path: Path) -> None:
    assert forbidden_imports(path, imports_of(path)) == []


@every_file
def test_every_part_of_a_package_has_a_place_in_the_order(path: Path) -> None:
    assert Path(path.parts[1]).stem in PLACES[path.parts[0]]


@every_file
def test_imports_inside_a_package_point_left(path: Path) -> None:
    is_free = path in LAZY or path.name == "__main__.py"  # `python -m` of a package
    assert imports_to_the_right(path, imports_of(path)) == [] or is_free


@pytest.mark.parametrize("path", SWEEPER_FILES, ids=str)
def test_only_those_who_bind_or_train_bring_pytorch(path: Path) -> None:
    assert heavy_imports(path, imports_of(path)) == []


@pytest.mark.parametrize("name", [*LIGHT, "mpnet", "sweeper", "sweeper.config.sweep"])
def test_what_is_said_to_be_light_imports_no_giant(name: str) -> None:
    code = f"import sys, {name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "ray", "optuna", "mlflow"} & set(done.stdout.split())


@every_file
def test_no_function_is_longer_than_40_lines(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 - _documented(f) for f in functions}
    assert {name: n for name, n in lengths.items() if n > 40} == {}


MODULES = [path for path in SWEEPER_FILES if not path.name.startswith("__")]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_of_the_service_has_a_test_file_of_its_name(path: Path) -> None:
    by_name = Path(*path.parts[1:-1], f"test_{path.stem.strip('_')}.py")
    place = TESTED_ELSEWHERE.get(path.as_posix(), by_name)
    assert (ROOT / "tests" / "sweeper" / place).exists()


def _documented(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of its docstring."""
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (first.end_lineno or 0) - first.lineno + 1 if is_text else 0


@every_file
def test_only_the_command_lines_print(path: Path) -> None:
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    lines = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
    assert lines == [] or path.as_posix() in ("mpnet/__main__.py", "sweeper/launch.py")


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
        ("sweeper/results/selection.py", "torch"),
        ("sweeper/results/ranking.py", "ray"),
        ("sweeper/execution/trial.py", "mlflow"),
        ("sweeper/driver/plan.py", "optuna"),
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
        ("sweeper/config/sweep.py", "sweeper.results.records.Record"),
        ("sweeper/report/terminal.py", "sweeper.driver.view"),
    ],
)
def test_an_import_to_the_right_is_found(path: str, name: str) -> None:
    assert imports_to_the_right(Path(path), ["torch", "mpnet.errors", name]) == [name]


def test_the_graph_of_a_package_has_who_imports_whom_and_nothing_backwards() -> None:
    lines = graph("sweeper").splitlines()
    assert "  driver --> ledger" in lines
    assert "  ledger --> driver" not in lines


def test_an_import_that_brings_pytorch_is_found() -> None:
    names = ["mpnet.metrics.acc", "mpnet.config.RunConfig", "mpnet.run"]
    assert heavy_imports(Path("sweeper/results/facts.py"), names) == names[1:]


if __name__ == "__main__":
    print(graph(sys.argv[1]))
