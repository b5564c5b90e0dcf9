"""`python -m mpnet.check`: does a method of one's own keep the contract of all methods?"""

import argparse
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from mpnet import contract
from mpnet.command_line import new_parser
from mpnet.config import RunConfig
from mpnet.device_contract import device_faults
from mpnet.errors import ConfigError
from mpnet.machine import limit_threads
from mpnet.methods import METHODS
from mpnet.plugins import load_plugins
from mpnet.reading import set_value

EXAMPLES = """examples:
  python -m mpnet.check my_package.my_method
  python -m mpnet.check my_package.my_method strength=0.5
  python -m mpnet.check lra

The runs are small ones on the built-in digits: a minute for a method. The exit code is 0 if all is
well, 1 if something is wrong, 2 if there is nothing to check.
"""
Check = tuple[str, Callable[[], list[str]]]


def main(arguments: list[str] | None = None) -> int:
    """Parse, check every method of a module, say what is wrong in words."""
    options = _parser().parse_args(arguments)
    console = Console()
    limit_threads(1)  # the networks are tiny
    found = []
    try:
        for name in _methods(options.method):
            console.print(f"method {name}", style="bold", highlight=False)
            found += _told(name, _changes(name, options), console)
    except ConfigError as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    console.print(f"{len(found)} wrong" if found else "All is well.", highlight=False)
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser(
        "python -m mpnet.check",
        "Check that methods do what the training loop and sweeps rely on.",
        EXAMPLES,
    )
    parser.add_argument("method", help="a module that registers methods, or a method's name")
    parser.add_argument("options", nargs="*", metavar="key=value", help="of the method")
    return parser


def _methods(asked: str) -> list[str]:
    """The methods of this name, or of this module and those below it."""
    load_plugins()
    if asked in METHODS:
        return [asked]
    load_plugins([asked])
    homes = {name: METHODS[name].__module__ for name in METHODS}
    found = [name for name, home in homes.items() if f"{home}.".startswith(f"{asked}.")]
    if not found:
        raise ConfigError(
            f"{asked}: must register a method, but does not; "
            'write @METHODS.register("its_name") above its class.'
        )
    return found


def _changes(name: str, options: argparse.Namespace) -> dict[str, Any]:
    method: dict[str, Any] = {"name": name}
    for text in options.options:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"{text}: must read key=value, such as strength=0.5.")
        set_value(method, [key], value, text)
    plugins = [] if options.method in METHODS else [options.method]
    return {"method": method, "plugins": plugins}


def _told(name: str, changes: dict[str, Any], console: Console) -> list[str]:
    """Every fault, said as soon as it is found."""
    wrong = []
    plain = contract.small_run(name, **changes)
    normed = contract.small_run(name, network=contract.NORMED, **changes)
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        for title, check in [
            *_checks(plain, normed, Path(folder)),
            *_sharing(normed, Path(folder)),
        ]:
            faults = _faults(check)
            mark = "[red]wrong[/]" if faults else "[green]ok[/]   "
            console.print(f"  {mark}  {title}", highlight=False)
            for text in faults:
                line = f"         {text}."
                console.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
            wrong += faults
    return wrong


def _checks(plain: RunConfig, normed: RunConfig, folder: Path) -> Iterator[Check]:
    yield "R is finite on and below the diagonal", partial(contract.accuracy_faults, plain)
    yield "the same seed gives the same result", partial(contract.seed_faults, plain)
    yield "heads move exactly when their data are trained on", partial(contract.head_faults, plain)
    for t in (0, 1):
        title = f"the gradient of the penalty is autograd's in task {t + 1}"
        yield title, partial(contract.penalty_faults, plain, t)
    for t in (0, 1):
        title = f"in task {t + 1} a step stays on its device and asks for no value"
        yield title, partial(device_faults, normed, t)
    for n in (1, 2, 3, 5):
        title = f"stopped after epoch {n} and resumed, it is the same run, bit for bit"
        yield title, partial(contract.resume_faults, normed, n, folder / f"resume-{n}")


def _sharing(config: RunConfig, folder: Path) -> Iterator[Check]:
    """Whether what a method declares of its first task is true."""
    name = config.method["name"]
    declared = vars(METHODS[name])
    kind = declared.get("first_task")
    if kind is None:
        return
    title = f"first_task = {kind!r}: a first task can be taken from where it was trained"
    yield title, partial(contract.shared_task_faults, config, config, folder / "own")
    for other in _of_kind(kind, name):
        title = f"first_task = {kind!r}: it can be taken from '{other}'"
        trainer = contract.small_run(other, network=contract.NORMED, plugins=list(config.plugins))
        yield title, partial(contract.shared_task_faults, trainer, config, folder / other)
    for option in sorted(declared.get("later_options", ())):
        title = f"later_options: `{option}` does not act on the first task"
        yield title, partial(contract.later_option_faults, config, option)


def _of_kind(kind: str, name: str) -> Sequence[str]:
    """Another method with first tasks of this kind, if there is one; it stands for all."""
    same = [n for n in METHODS if n != name and vars(METHODS[n]).get("first_task") == kind]
    return same[:1]


def _faults(check: Callable[[], list[str]]) -> list[str]:
    try:
        return check()
    except Exception as error:  # whatever somebody else's method raises
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split()).rstrip(".")
        return [f"it raises {type(error).__name__}: {text} ({place.filename}:{place.lineno})"]


if __name__ == "__main__":
    sys.exit(main())
