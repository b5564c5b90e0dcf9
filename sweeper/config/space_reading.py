"""The `space` block of a file: to a search space, with a line for each thing that is wrong."""

import math
import sys
from collections.abc import Mapping

from mpnet.reading import shown
from sweeper.config.space import (
    KINDS,
    POINTS,
    Domain,
    Scalar,
    SearchSpace,
    is_among,
    listed_values,
)

_LARGEST_INT = 2**53  # samplers compute with floats, which know every whole number up to here


def parse_space(raw: object, where: str, faults: list[str]) -> SearchSpace:
    """Read a `space` block, adding a line to `faults` for each thing that is wrong."""
    space = SearchSpace()
    if not isinstance(raw, Mapping):
        faults.append(f"{where}: must map dotted paths to domains, but got {shown(raw)}.")
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
            f"{where}: must read {{kind: [...]}}, such as {{grid: [1, 2]}}; got {shown(block)}."
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
        faults.append(
            f"{where}.when: must map a path to a value or a list, but got {shown(when)}."
        )
        return None
    fault = _fault_of_values(kinds[0], block[kinds[0]])
    if fault:
        faults.append(f"{where}.{kinds[0]}: {fault}, but got {shown(block[kinds[0]])}.")
        return None
    conditions = {str(path): _as_tuple(allowed) for path, allowed in when.items()}
    return Domain(kinds[0], tuple(block[kinds[0]]), conditions)


def _fault_of_values(kind: str, values: object) -> str | None:
    if not isinstance(values, list) or not values:
        return "must be a list with something in it"
    if kind in POINTS:
        if not all(value is None or type(value) in (str, int, float, bool) for value in values):
            return "every value must be a number, a text, true/false or null"
        if not all(_is_finite(value) for value in values if isinstance(value, int | float)):
            return "every number must be finite"
        return "every value must stand there once" if len(set(values)) < len(values) else None
    kinds = (int,) if kind == "int" else (int, float)
    if len(values) != 2 or not all(type(value) in kinds for value in values):
        return f"must be [low, high], two {'whole ' if kind == 'int' else ''}numbers"
    low, high = values
    if not (_is_finite(low) and _is_finite(high)):
        return "both numbers must be finite"
    if low >= high:
        return "low < high must hold"
    if kind == "int" and max(-low, high) > _LARGEST_INT:
        return "both must be at most 2**53, beyond which samplers cannot tell whole numbers apart"
    if not math.isfinite(float(high) - float(low)):
        return "high - low must be finite"
    return "low > 0 must hold" if kind == "log_uniform" and low <= 0 else None


def _is_finite(number: float) -> bool:
    """Whether it is a number that a float can be near to, as 10**400 is not."""
    return abs(number) <= sys.float_info.max


def _check_conditions(space: SearchSpace, where: str, faults: list[str]) -> None:
    before: list[str] = []
    for path, domain in space.items():
        for other, allowed in domain.when.items():
            at = f"{where}.{path}.when.{other}"
            if other not in before:
                faults.append(f"{at}: must be a path of the space that stands before this one.")
            elif space[other].kind not in POINTS:
                faults.append(f"{at}: must be a grid or a choice, but is {space[other].kind}.")
            elif not allowed:
                faults.append(f"{at}: must name a value, or this path would never be there.")
            elif strange := [v for v in allowed if not is_among(v, space[other].values)]:
                listed = listed_values(space[other].values)
                faults.append(f"{at}: must be among {listed}, but got {listed_values(strange)}.")
        before.append(path)


def _as_tuple(value: object) -> tuple[Scalar, ...]:
    return tuple(value) if isinstance(value, list) else (value,)  # type: ignore[return-value]
