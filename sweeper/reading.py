"""From text to plain blocks: YAML, and dotted overrides from a command line."""

import re
from pathlib import Path
from typing import Any

import yaml

from sweeper.errors import SweepError

BLOCKS = ("run", "space", "sweep", "select")


class _Loader(yaml.SafeLoader):
    """Reads 1e-5 as the number that everyone means; YAML 1.1 has it as text.

    A key that stands twice in a block is an error, where PyYAML would keep the last.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a second value for a key."""
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        twice = {key for key in keys if isinstance(key, str) and keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f"{', '.join(sorted(twice))} stands twice in a block", node.start_mark
            )
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {k: [*v] for k, v in _Loader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


class _Dumper(yaml.SafeDumper):
    """Quotes a text that `_Loader` would take for a number."""


_Dumper.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def parse_yaml(text: str) -> Any:
    """Plain values only, numbers as everyone writes them."""
    return yaml.load(text, _Loader)


def dump_yaml(content: Any) -> str:
    """The text from which `parse_yaml` makes the same content."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False)


def read_blocks(path: Path) -> dict[str, Any]:
    """The blocks of a sweep's file, unchecked.

    Raises:
        SweepError: it cannot be read at all.
    """
    try:
        content = parse_yaml(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise SweepError(f"{path}: a readable file must be there, but: {why}.") from error
    except yaml.YAMLError as error:
        raise SweepError(f"{path}: valid YAML must be there, but {error}.") from error
    if not isinstance(content, dict):
        raise SweepError(f"{path}: must hold the blocks {', '.join(BLOCKS)}, but got {content!r}.")
    return content


def override(blocks: dict[str, Any], text: str) -> str | None:
    """Apply `block.key=value`; gives what is wrong with it, if anything.

    The paths of a space have dots in them: space.method.tau_0='{grid: [1e-5]}'.
    """
    path, equals, value = text.partition("=")
    root, dot, rest = path.partition(".")
    if not (equals and dot and rest and root in BLOCKS):
        return f"{text}: must read block.key=value, such as run.epochs=5 or sweep.trials=4."
    *parents, last = [root, rest] if root == "space" else path.split(".")
    block = blocks
    for parent in parents:
        if block.get(parent) is None:
            block[parent] = {}
        block = block[parent]
        if not isinstance(block, dict):
            return f"{text}: '{parent}' must be a block, but is {block!r}."
    try:
        block[last] = parse_yaml(value)
    except yaml.YAMLError:
        return f"{text}: the value must be valid YAML, but got {value!r}."
    return None
