"""The blocks of a sweep's file, and dotted overrides of them from a command line."""

from pathlib import Path
from typing import Any

from mpnet.errors import ConfigError
from mpnet.reading import read_composed, set_value, shown
from sweeper.errors import SweepError

BLOCKS = ("run", "space", "sweep", "select")


def read_blocks(path: Path) -> dict[str, Any]:
    """The blocks of a sweep's file, laid over those of the file that it is `from`, unchecked.

    Raises:
        SweepError: it cannot be read at all.
    """
    try:
        content = read_composed(path)
    except ConfigError as error:
        raise SweepError(str(error)) from error
    if not isinstance(content, dict):
        must = f"must hold the blocks {', '.join(BLOCKS)}"
        raise SweepError(f"{path}: {must}, but got {shown(content)}.")
    return content


def override(blocks: dict[str, Any], text: str) -> str | None:
    """Apply `block.key=value`; gives what is wrong with it, if anything.

    The paths of a space have dots in them: space.method.tau_0='{grid: [1e-5]}'.
    """
    path, equals, value = text.partition("=")
    root, dot, rest = path.partition(".")
    if not (equals and dot and rest and root in BLOCKS):
        must = "must read block.key=value, such as run.epochs=5 or sweep.trials=4"
        return f"{text[:200]}: {must}."
    keys = [root, rest] if root == "space" else path.split(".")
    try:
        set_value(blocks, keys, value, text[:200])
    except ConfigError as error:
        return str(error)
    return None
