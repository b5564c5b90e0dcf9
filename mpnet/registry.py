"""Names in a YAML file to the classes and builders they stand for."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from mpnet.errors import ConfigError

T = TypeVar("T")
Member = TypeVar("Member")


class Registry(Generic[T]):
    """A named collection; each member's keyword-only arguments are its schema."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._members: dict[str, T] = {}

    def register(self, name: str) -> Callable[[Member], Member]:
        """Decorate a class or builder to make it known under `name`."""

        def add(member: Member) -> Member:
            if name in self._members:
                own, other = (_home(one) for one in (member, self._members[name]))
                must = f"{self.kind} '{name}': a name must be registered once"
                raise ConfigError(f"{must}, but {own} takes that of {other}; choose another.")
            self._members[name] = member  # type: ignore[assignment]  # keeps the member's own type
            return member

        return add

    def __getitem__(self, name: str) -> T:
        if name not in self._members:
            raise ConfigError(f"no {self.kind} '{name}'; {did_you_mean(name, self._members)}")
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._members))

    def __contains__(self, name: str) -> bool:
        return name in self._members


def _home(member: object) -> str:
    return f"{getattr(member, '__module__', '?')}.{getattr(member, '__qualname__', '?')}"


def import_members(package: str, path: Iterable[str]) -> None:
    """Import every file of a folder but the shared ones, so that each registers what it holds."""
    for module in pkgutil.iter_modules(path):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, or all of them."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1)
    return f"did you mean '{near[0]}'?" if near else f"there is {', '.join(words)}."
