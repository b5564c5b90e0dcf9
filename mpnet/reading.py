"""The one YAML reader of runs, sweeps and overrides: from text to plain values and back."""

import difflib
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mpnet.errors import ConfigError

_MOST_DIGITS = 400  # of a whole number: no float is larger
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlong, _SHORT.maxlevel = 40, 4
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20


def shown(value: object) -> str:
    """A value as it is told in a message: what is long is cut."""
    return _SHORT.repr(value)


class _Loader(yaml.SafeLoader):
    """Reads 1e-5 as the number that everyone means; YAML 1.1 has it as text.

    A key that stands twice in a block is an error, where PyYAML would keep the last.
    """

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> str:
        """Join the two halves of a character, as JSON writes rare ones; half of one is no text."""
        text = str(super().construct_scalar(node))
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            must = "text must be of whole characters, without half of a surrogate pair"
            raise yaml.constructor.ConstructorError(None, None, must, node.start_mark) from None

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Refuse numbers that nothing here can take, and nobody read."""
        if len(node.value) > _MOST_DIGITS:
            must = f"a whole number must have at most {_MOST_DIGITS} digits"
            raise yaml.constructor.ConstructorError(None, None, must, node.start_mark)
        return super().construct_yaml_int(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a second value for a key."""
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        twice = {key for key in keys if isinstance(key, str) and keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f"{', '.join(sorted(twice))} stands twice in a block", node.start_mark
            )
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
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
    """Plain values only, numbers as everyone writes them.

    Raises:
        YAMLError: whatever PyYAML itself raises, of which some is not.
    """
    try:
        return yaml.load(text, _Loader)
    except RecursionError as error:
        raise yaml.YAMLError("blocks or lists are nested too deeply") from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise yaml.YAMLError(f"a value is not what its tag says: {error}") from error


def dump_yaml(content: Any) -> str:
    """The text from which `parse_yaml` makes the same content."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=10_000)


def read_yaml(path: Path) -> Any:
    """The content of a file.

    Raises:
        ConfigError: it cannot be read at all.
    """
    try:
        return parse_yaml(path.read_text())
    except (OSError, ValueError) as error:  # a name with a null byte in it
        why = getattr(error, "strerror", None) or "it is not text"
        hint = "" if os.path.exists(path) else alike(path)
        raise ConfigError(f"{path}: a readable file must be there, but: {why}.{hint}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: valid YAML must be there, but {error}.") from error


def alike(path: Path) -> str:
    """A question with the path that may have been meant, part by part; empty if none is near."""
    found = Path(path.anchor)
    for part in path.parts[len(found.parts) :]:
        if not (found / part).exists():
            there = [one.name for one in found.iterdir()] if found.is_dir() else []
            file = [name for name in there if name == f"{part}.yaml"]
            near = file or difflib.get_close_matches(part, there, n=1)
            if not near:
                return ""
            part = near[0]
        found /= part
    return f" Did you mean {found}?"


def read_composed(path: Path, read_before: Sequence[Path] = ()) -> Any:
    """The content of a file laid over that of the file which it names by `from`, if it does.

    Raises:
        ConfigError: one of them cannot be read, or comes from itself.
    """
    content = read_yaml(path)
    base = content.get("from") if isinstance(content, dict) else None
    if not isinstance(base, str):
        return content
    chain = [*read_before, _real(path)]
    if (below := _real(path.parent / base)) in chain:
        raise ConfigError(f"{path}: `from` must lead to a file without it, but leads back here.")
    own = {key: value for key, value in content.items() if key != "from"}
    found = read_composed(below, chain)
    if not isinstance(found, dict):
        raise ConfigError(f"{below}: must hold blocks to go on from, but got {shown(found)}.")
    return merged(found, own)


def _real(path: Path) -> Path:
    """Where a path leads, also one that leads nowhere or in a circle."""
    return Path(os.path.realpath(path))


def with_plugins(content: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """The run of a file with the plug-ins that stand beside it, which belong to what it is."""
    return {**run, **{key: content[key] for key in ("plugins",) if key in content}}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One block over another: null removes a key, and a block with another name replaces.

    Plug-ins add up: a row of a table brings its method, a column its benchmark.
    """
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        if value is None:
            found.pop(key, None)
        elif isinstance(old, Mapping) and isinstance(value, Mapping) and not _renamed(old, value):
            found[key] = merged(old, value)
        elif key == "plugins" and isinstance(old, list) and isinstance(value, list):
            found[key] = [*old, *(name for name in value if name not in old)]
        else:
            found[key] = value
    return found


def _renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "name" in old and "name" in new and old["name"] != new["name"]


def set_value(block: dict[str, Any], keys: Sequence[str], value: str, where: str) -> None:
    """Put a value, given as YAML, below some keys; blocks that are not there are made.

    Raises:
        ConfigError: one of the keys has no block, or the value is no YAML.
    """
    *parents, last = keys
    for parent in parents:
        if block.get(parent) is None:
            block[parent] = {}
        block = block[parent]
        if not isinstance(block, dict):
            raise ConfigError(f"{where}: '{parent}' must be a block, but is {shown(block)}.")
    try:
        block[last] = parse_yaml(value)
    except yaml.YAMLError as error:
        why = getattr(error, "problem", None) or error
        must = f"{where}: the value must be valid YAML, but got {shown(value)}"
        raise ConfigError(f"{must} ({why}).") from error
