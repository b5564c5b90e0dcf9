"""Search spaces: for each dotted path into a run, the values that it may take."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Values = dict[str, Any]  # dotted path -> value
Scalar = str | int | float | bool | None

KINDS = ("grid", "choice", "uniform", "log_uniform", "int")
_POINTS = ("grid", "choice")


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
        return self.values if self.kind in _POINTS else None

    @property
    def is_ordered(self) -> bool:
        """Whether one value can lie between others: a choice has no order, nor have texts."""
        are_numbers = all(type(value) in (int, float) for value in self.values)
        return self.kind != "choice" and are_numbers

    @property
    def ends(self) -> tuple[Scalar, ...]:
        """What must be tried to know that all values are good."""
        return self.values

    def is_active(self, values: Values) -> bool:
        """Whether the path exists beside the values chosen for those before it."""
        return all(
            path in values and _is_among(values[path], allowed)
            for path, allowed in self.when.items()
        )

    def fault(self, value: object) -> str | None:
        """What is wrong with a value, if anything."""
        if self.kind in _POINTS:
            is_there = _is_among(value, self.values)
            return None if is_there else f"must be one of {_listed(self.values)}"
        low, high = self.values
        kind = int if self.kind == "int" else (int, float)
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if is_number and low <= value <= high:  # type: ignore[operator]  # checked above
            return None
        must = "be a whole number" if self.kind == "int" else "lie"
        return f"must {must} in [{low}, {high}]"

    def typed(self, value: Any) -> Scalar:
        """A good value as the sampler would give it: 1 in a range of floats is 1.0."""
        if self.kind in _POINTS:
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
        deciding = self._deciding()
        branches = SearchSpace({path: self[path] for path in self if path in deciding})
        others = [domain for path, domain in self.items() if path not in deciding]
        return sum(
            math.prod(len(domain.points or ()) for domain in others if domain.is_active(branch))
            for branch in branches.points()
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

    def _deciding(self) -> set[str]:
        """The paths on which others depend."""
        return {path for domain in self.values() for path in domain.when}

    def corners(self) -> Iterator[Values]:
        """Points that together show every value of a choice and both ends of every range."""
        first = {path: domain.ends[:1] for path, domain in self.items()}
        branching = {path: self[path].ends for path in self._deciding()}
        if not self:
            yield {}
        for path, domain in self.items():
            yield from self._expanded({**first, **branching, path: domain.ends})

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
                found.append(f"{path}: {must}, but got {known[path]!r}")
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
    block: Any = run
    for parent in path.split(".")[:-1]:
        block = block.get(parent, {})
        if not isinstance(block, Mapping):
            return f"'{parent}' must be a block of the run, but is {block!r}"
    return None


def parse_space(raw: object, where: str, faults: list[str]) -> SearchSpace:
    """Read a `space` block, adding a line to `faults` for each thing that is wrong."""
    space = SearchSpace()
    if not isinstance(raw, Mapping):
        faults.append(f"{where}: must map dotted paths to domains, but got {raw!r}.")
        return space
    for path, block in raw.items():
        domain = _parse_domain(block, f"{where}.{path}", faults)
        if domain is not None:
            space[str(path)] = domain
    _check_conditions(space, where, faults)
    return space


def _parse_domain(block: object, where: str, faults: list[str]) -> Domain | None:
    if not isinstance(block, Mapping):
        faults.append(
            f"{where}: must read {{kind: [...]}}, such as {{grid: [1, 2]}}; got {block!r}."
        )
        return None
    kinds = [key for key in block if key in KINDS]
    unknown = [str(key) for key in block if key not in (*KINDS, "when")]
    if len(kinds) != 1 or unknown:
        got = ", ".join(map(str, block)) or "nothing"
        faults.append(
            f"{where}: must have one kind of {', '.join(KINDS)} (and `when`); got {got}."
        )
        return None
    when = block.get("when", {})
    if not isinstance(when, Mapping):
        faults.append(f"{where}.when: must map a path to a value or a list, but got {when!r}.")
        return None
    fault = _fault_of_values(kinds[0], block[kinds[0]])
    if fault:
        faults.append(f"{where}.{kinds[0]}: {fault}, but got {block[kinds[0]]!r}.")
        return None
    conditions = {str(path): _as_tuple(allowed) for path, allowed in when.items()}
    return Domain(kinds[0], tuple(block[kinds[0]]), conditions)


def _fault_of_values(kind: str, values: object) -> str | None:
    if not isinstance(values, list) or not values:
        return "must be a list with something in it"
    if kind in _POINTS:
        if not all(value is None or type(value) in (str, int, float, bool) for value in values):
            return "every value must be a number, a text, true/false or null"
        if not all(math.isfinite(value) for value in values if isinstance(value, float)):
            return "every number must be finite"
        return "every value must stand there once" if len(set(values)) < len(values) else None
    kinds = (int,) if kind == "int" else (int, float)
    if len(values) != 2 or not all(type(value) in kinds for value in values):
        return f"must be [low, high], two {'whole ' if kind == 'int' else ''}numbers"
    low, high = values
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return "low < high must hold"
    return "low > 0 must hold" if kind == "log_uniform" and low <= 0 else None


def _check_conditions(space: SearchSpace, where: str, faults: list[str]) -> None:
    before: list[str] = []
    for path, domain in space.items():
        for other, allowed in domain.when.items():
            at = f"{where}.{path}.when.{other}"
            if other not in before:
                faults.append(f"{at}: must be a path of the space that stands before this one.")
            elif space[other].kind not in _POINTS:
                faults.append(f"{at}: must be a grid or a choice, but is {space[other].kind}.")
            elif not allowed:
                faults.append(f"{at}: must name a value, or this path would never be there.")
            elif strange := [v for v in allowed if not _is_among(v, space[other].values)]:
                listed = _listed(space[other].values)
                faults.append(f"{at}: must be among {listed}, but got {_listed(strange)}.")
        before.append(path)


def _is_among(value: object, values: Sequence[object]) -> bool:
    """Whether a value is among others as a reader means it: true is not 1."""
    return any(
        value == other and isinstance(value, bool) == isinstance(other, bool) for other in values
    )


def _as_tuple(value: object) -> tuple[Scalar, ...]:
    return tuple(value) if isinstance(value, list) else (value,)  # type: ignore[return-value]


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))
