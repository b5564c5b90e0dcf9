"""Names in a YAML file to the classes and builders they stand for."""

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from mpnet.errors import ConfigError

T = TypeVar("T", bound=Callable[..., object])


class Registry:
    """A named collection; each member's keyword-only arguments are its schema."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._members: dict[str, Callable[..., object]] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate a class or builder to make it known under `name`."""

        def add(member: T) -> T:
            assert name not in self._members, f"{self.kind} '{name}' is registered twice"
            self._members[name] = member
            return member

        return add

    def __getitem__(self, name: str) -> Callable[..., object]:
        if name not in self._members:
            raise ConfigError(f"no {self.kind} '{name}'; {did_you_mean(name, self._members)}")
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._members))

    def __contains__(self, name: str) -> bool:
        return name in self._members


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, or all of them."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1)
    return f"did you mean '{near[0]}'?" if near else f"there is {', '.join(words)}."
