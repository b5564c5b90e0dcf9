"""Search spaces: for each dotted path into a run, the values that it may take."""

import copy
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from mpnet.reading import shown

Values = dict[str, Any]  # dotted path -> value
Scalar = str | int | float | bool | None

KINDS = ("grid", "choice", "uniform", "log_uniform", "int")
POINTS = ("grid", "choice")
_MANY = 100  # values of a grid, or points of a kind, of which not all are tried

Met = frozenset[tuple[str, str]]  # conditions that hold of a point: (path, the one it depends on)


@dataclass(frozen=True)
class Domain:
    """The values of one path.

    Args:
        kind: "grid" (ordered points), "choice" (unordered ones), "uniform", "log_uniform", "int".
        values: the points, or the two ends of a range, both included.
        when: values that other paths must have for this one to exist.
    """

    kind: str
    values: tuple[Scalar, ...]
    when: Mapping[str, tuple[Scalar, ...]]

    @property
    def points(self) -> Sequence[Scalar] | None:
        """All values in order, or None if there is no end to them."""
        if self.kind == "int":
            low, high = self.values
            return range(low, high + 1)  # type: ignore[arg-type, operator]  # checked
        return self.values if self.kind in POINTS else None

    @property
    def is_ordered(self) -> bool:
        """Whether one value can lie between others: a choice has no order, nor have texts."""
        are_numbers = all(type(value) in (int, float) for value in self.values)
        return self.kind != "choice" and are_numbers

    @property
    def ends(self) -> tuple[Scalar, ...]:
        """What is tried to know that all values are good; of many numbers, some of each kind."""
        if not self.is_ordered or len(self.values) <= _MANY:
            return self.values
        numbers: list[Any] = sorted(self.values)
        kinds = {(type(value), value == int(value)): value for value in numbers}
        some = (*kinds.values(), *numbers[:: len(numbers) // _MANY], numbers[-1])
        return tuple(dict.fromkeys(some))

    def is_active(self, values: Values) -> bool:
        """Whether the path exists beside the values chosen for those before it."""
        return all(
            path in values and is_among(values[path], allowed)
            for path, allowed in self.when.items()
        )

    def fault(self, value: object) -> str | None:
        """What is wrong with a value, if anything."""
        if self.kind in POINTS:
            is_there = is_among(value, self.values)
            return None if is_there else f"must be one of {listed_values(self.values)}"
        low, high = self.values
        kind = int if self.kind == "int" else (int, float)
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if is_number and low <= value <= high:  # type: ignore[operator]  # checked above
            return None
        must = "be a whole number" if self.kind == "int" else "lie"
        return f"must {must} in [{low}, {high}]"

    def typed(self, value: Any) -> Scalar:
        """A good value as the sampler would give it: 1 in a range of floats is 1.0."""
        if self.kind in POINTS:
            return next(point for point in self.values if point == value)
        return int(value) if self.kind == "int" else float(value)

    def distance(self, a: Scalar, b: Scalar) -> float:
        """How far two values are apart, as a part of the domain; without an order, all or nothing.

        The points of a grid are equally far from one to the next, whatever their numbers.
        """
        if not self.is_ordered:
            return float(a != b)
        if self.kind == "grid":
            by_size = sorted(self.values)  # type: ignore[type-var]  # numbers
            return abs(by_size.index(a) - by_size.index(b)) / max(1, len(by_size) - 1)
        scale = math.log if self.kind == "log_uniform" else float
        x, y, low, high = (scale(value) for value in (a, b, *self.values))  # type: ignore[arg-type]
        return abs(x - y) / (high - low)

    def drawn(self, random: Random) -> Scalar:
        """Any value, each as likely as the other; of a log_uniform range, each order of size."""
        if self.points is not None:
            return random.choice(self.points)
        low, high = float(self.values[0]), float(self.values[1])  # type: ignore[arg-type]
        if self.kind == "uniform":
            return random.uniform(low, high)
        return min(high, max(low, math.exp(random.uniform(math.log(low), math.log(high)))))


class SearchSpace(dict[str, Domain]):
    """Domains by path; a condition names paths that stand before it."""

    @property
    def size(self) -> int | None:
        """How many different points there are, or None if there is no end to them."""
        if any(domain.points is None for domain in self.values()):
            return None
        counts = Counter[Met]({frozenset(): 1})
        for path, domain in self.items():
            if any(path in later.when for later in self.values()):
                kinds = Counter(self._met(path, value) for value in domain.values)
            else:
                kinds = Counter({frozenset(): len(domain.points or ())})
            counts = self._extended(counts, path, kinds)
        return counts.total()

    def _extended(self, counts: Counter[Met], path: str, kinds: Counter[Met]) -> Counter[Met]:
        """How many points there are of each kind, once the next path has its values.

        Points are alike where the same conditions of later paths hold: so many values of so many
        paths need not be gone through one by one.
        """
        own = frozenset((path, other) for other in self[path].when)
        found = Counter[Met]()
        for met, n in counts.items():
            for more, n_values in kinds.items() if own <= met else [(frozenset(), 1)]:
                found[(met - own) | more] += n * n_values
        return found

    def _met(self, path: str, value: Scalar) -> Met:
        """The conditions of later paths that a value of this one fulfils."""
        return frozenset(
            (later, path)
            for later, domain in self.items()
            if path in domain.when and is_among(value, domain.when[path])
        )

    def points(self) -> Iterator[Values]:
        """Every point of a space in which each domain has an end, in the order of the file."""
        return self._expanded({path: domain.points or () for path, domain in self.items()})

    def drawn(self, random: Random) -> Values:
        """Any point."""
        point: Values = {}
        for path, domain in self.items():
            if domain.is_active(point):
                point[path] = domain.drawn(random)
        return point

    def distance(self, a: Values, b: Values) -> float:
        """How far two points are apart; a path that only one of them has counts in full."""
        return sum(
            domain.distance(a[path], b[path]) if path in a and path in b else 1.0
            for path, domain in self.items()
            if path in a or path in b
        )

    def corners(self) -> Iterator[Values]:
        """Points that together show every value of a choice and both ends of every range.

        Each of them with every combination of conditions that hold before it, but where these
        would be very many.
        """
        if not self:
            yield {}
        kinds: dict[Met, Values] = {frozenset(): {}}  # one point of each
        for path, domain in self.items():
            own = frozenset((path, other) for other in domain.when)
            found: dict[Met, Values] = {}
            is_thin = len(kinds) * len(domain.ends) > _MANY**2
            for place, (met, point) in enumerate(kinds.items()):
                if not own <= met:
                    found.setdefault(met - own, point)
                    continue
                for value in domain.ends:
                    more = {**point, path: value}
                    is_new = found.setdefault((met - own) | self._met(path, value), more) is more
                    if is_new or place == 0 or not is_thin:
                        yield self._completed(more, path)
            kinds = found

    def _completed(self, point: Values, path: str) -> Values:
        """A point that has values up to a path, with the first value of every later one."""
        whole, is_later = dict(point), False
        for other, domain in self.items():
            if is_later and domain.is_active(whole):
                whole[other] = domain.ends[0]
            is_later = is_later or other == path
        return whole

    def _expanded(self, options: Mapping[str, Sequence[Scalar]]) -> Iterator[Values]:
        """Each point once, made when it is asked for."""
        points: Iterator[Values] = iter([{}])
        for path, domain in self.items():
            points = _extended(points, path, domain, options[path])
        return points

    def typed(self, values: Mapping[str, Any]) -> Values:
        """A point without faults as the sampler would give it, so that equals have one key."""
        return {path: self[path].typed(values[path]) for path in self if path in values}

    def faults(self, values: Mapping[str, Any]) -> list[str]:
        """What is wrong with a whole point, one sentence each."""
        found = [f"{path}: is not in the space" for path in values if path not in self]
        known = {path: value for path, value in values.items() if path in self}
        for path, domain in self.items():
            is_there, is_active = path in known, domain.is_active(known)
            if is_there and not is_active:
                found.append(f"{path}: has no place here, its condition does not hold")
            elif is_there and (must := domain.fault(known[path])):
                found.append(f"{path}: {must}, but got {shown(known[path])}")
            elif is_active and not is_there:
                found.append(f"{path}: a value must be given")
        return found


def _extended(
    points: Iterator[Values], path: str, domain: Domain, values: Sequence[Scalar]
) -> Iterator[Values]:
    for point in points:
        if domain.is_active(point):
            yield from ({**point, path: value} for value in values)
        else:
            yield point


def with_values(run: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """A copy of a `run` block in which the dotted paths have these values."""
    changed = copy.deepcopy(dict(run))
    for path, value in values.items():
        *parents, last = path.split(".")
        block = changed
        for parent in parents:
            block = block.setdefault(parent, {})
        block[last] = value
    return changed


def path_fault(run: Mapping[str, Any], path: str) -> str | None:
    """Why no value can be put there, if so."""
    *parents, last = path.split(".")
    block: Any = run
    for parent in parents:
        block = block.get(parent, {})
        if not isinstance(block, Mapping):
            return f"'{parent}' must be a block of the run, but is {shown(block)}"
    if isinstance(block.get(last), Mapping):
        return f"must lead to a value, but '{last}' is a block; name a key in it"
    return None


def is_among(value: object, values: Sequence[object]) -> bool:
    """Whether a value is among others as a reader means it: true is not 1."""
    return any(
        value == other and isinstance(value, bool) == isinstance(other, bool) for other in values
    )


def listed_values(values: Sequence[object]) -> str:
    """Values for a person, of many the first."""
    listed = ", ".join(map(str, values[:20]))
    return listed if len(values) <= 20 else f"{listed}, ..."
