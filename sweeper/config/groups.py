"""Trials that share their values at some paths: what is chosen and compared group by group."""

from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.config.space import SearchSpace

Group = tuple[tuple[str, Any], ...]  # (path, value), without paths that are not there


def group_of(values: Mapping[str, Any], paths: Sequence[str]) -> Group:
    """The group of a trial with these values; without paths all trials are one group."""
    return tuple((path, values[path]) for path in paths if path in values)


def groups_of(space: SearchSpace, paths: Sequence[str]) -> list[Group]:
    """Every group that the conditions of a space leave possible, in the order of the file."""
    points = deciding_part(space, paths).points()
    return list(dict.fromkeys(group_of(point, paths) for point in points))


def deciding_part(space: SearchSpace, paths: Sequence[str]) -> SearchSpace:
    """Some paths of a space, and those on which their being there depends."""
    needed = set(paths)
    for path in reversed(space):
        needed |= set(space[path].when) if path in needed else set()
    return SearchSpace({path: space[path] for path in space if path in needed})


def are_one_apart(a: Group, b: Group) -> bool:
    """Whether two groups differ in one value; a path that one lacks cannot be held the same."""
    first, second = dict(a), dict(b)
    return sum(first[path] != second[path] for path in first.keys() & second.keys()) == 1
