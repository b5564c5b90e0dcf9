"""Methods, networks, benchmarks and data sets from outside this project: plug-ins.

A plug-in is a module that registers what it holds when it is imported, as the files of this
project do. A run names it under `plugins`, or its package declares an entry point.
"""

import importlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from mpnet.errors import ConfigError
from mpnet.registry import Registry

KINDS = ("methods", "networks", "benchmarks", "datasets")


def load_plugins(names: Iterable[str] = ()) -> None:
    """Import the plug-ins of installed packages and those that are named, each once.

    Raises:
        ConfigError: with one line for each that cannot be used.
    """
    found = [*_faults_of_installed(), *(_fault_of_module(name) for name in names)]
    if faults := [text for text in found if text]:
        raise ConfigError("\n".join(faults))


@cache
def _faults_of_installed() -> tuple[str, ...]:
    return tuple(
        _fault_of_entry(entry, kind)
        for kind in KINDS
        for entry in entry_points(group=f"mpnet.{kind}")
    )


def _fault_of_entry(entry: EntryPoint, kind: str) -> str:
    where = f"entry point {entry.name} = {entry.value} of {entry.group}"
    owner = entry.dist.name if entry.dist else "its package"
    if fault := _fault_of_module(entry.module):
        return f"{where}: {fault} Mend or uninstall {owner}."
    registry: Registry[object] = getattr(importlib.import_module(entry.group), kind.upper())
    if entry.name not in registry:
        must = f"must register the {registry.kind} '{entry.name}', but does not"
        return f"{where}: {must}; mend or uninstall {owner}."
    return ""


@cache  # the reason of the first time: a second import would find its names taken by itself
def _fault_of_module(name: str) -> str:
    """Why a plug-in cannot be used; empty if it can."""
    must = f"plugins: {name}: must be a module that can be imported"
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        hint = "install it, or put the folder that holds it on PYTHONPATH"
        return f"{must}, but: {error}; {hint}."
    except (Exception, SystemExit) as error:  # whatever somebody else's module raises
        return f"{must}, but it raises {type(error).__name__}: {_one_line(error)}"
    return ""


def _one_line(error: BaseException) -> str:
    """The text of an error, on one line: every fault has its own."""
    return " ".join(str(error).split()).rstrip(".") + "."
