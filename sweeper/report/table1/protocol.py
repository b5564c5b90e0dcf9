"""The protocol behind the paper's table, key by key of a resolved run; what departs from it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sweeper.config.reseeding import Drawn, benchmark_seeds

EPOCHS, BATCH_SIZE = 250, 500  # of every run behind the table


class Rule(NamedTuple):
    """What a key of a resolved run must be.

    Args:
        source: "paper" where it says so, "reading" where it is silent and we had to choose.
        words: of the value, where it would not explain itself.
        when: a key and its value, without which the rule means nothing.
    """

    key: str
    value: Any
    source: Literal["paper", "reading"]
    words: str = ""
    when: tuple[str, Any] | None = None


RULES = (
    Rule("training.epochs", EPOCHS, "paper"),
    Rule("training.batch_size", BATCH_SIZE, "paper"),
    Rule("training.patience", None, "reading"),
    Rule("training.decay", "none", "reading"),
    Rule("training.clip_norm", None, "reading"),
    Rule("training.second_moment", "parameter", "reading"),
    Rule("training.precision", "float32", "reading"),
    Rule("benchmark.max_train_per_class", None, "paper", "all"),
    Rule("benchmark.partial_data", [], "paper", "none"),
    Rule("benchmark.class_order", None, "paper", "ascending"),
    Rule("benchmark.validation_share", 0.15, "paper"),
    Rule("network.hidden", [800, 800], "paper"),
    Rule("network.batch_norm", False, "reading"),
    Rule("network.dropout", False, "reading"),
    Rule("layers.likelihood", "gaussian", "paper"),
    Rule("layers.jitter", 1e-3, "reading", when=("layers.likelihood", "gaussian")),
    Rule("layers.relu", "taylor", "paper"),
    Rule("method.variance", "adam", "reading"),
    Rule("method.scale", "linear", "paper"),
    Rule("method.guard", 0.0, "paper"),
    Rule("method.accumulate", "last", "paper"),
)
_BY_SEED = "by the seed of the rerun"
_ALIKE = ("training", "benchmark", "network")  # blocks that all rows of a column should share


def departures(run: Mapping[str, Any], reseeded: Sequence[Drawn] = ()) -> list[str]:
    """The ways in which a resolved run leaves the protocol; what it does not have, it cannot.

    Args:
        run: as resolved.
        reseeded: what its reruns on the test sets draw by their own seed.
    """
    values = flat(run)
    values |= dict.fromkeys((f"benchmark.{k}" for k in benchmark_seeds(reseeded, 0)), _BY_SEED)
    return [
        f"{_named(rule.key)} {_shown(values[rule.key])} "
        f"({rule.source}: {rule.words or _shown(rule.value)})"
        for rule in RULES
        if rule.key in values
        and values[rule.key] != rule.value
        and (rule.when is None or values.get(rule.when[0]) == rule.when[1])
    ]


def unequal(runs: Mapping[str, Mapping[str, Any]], searched: Sequence[str] = ()) -> list[str]:
    """What is not the same for all rows of a column, in words.

    Args:
        runs: a resolved run of each row, by its label.
        searched: keys that sweeps search over, which may differ.
    """
    values = {label: dict(_shared(run)) for label, run in runs.items()}
    keys = dict.fromkeys(key for own in values.values() for key in own if key not in searched)
    return [text for key in keys if (text := _difference(key, values))]


def flat(run: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved run by dotted keys, without the names of its blocks."""
    return {
        f"{block}.{key}": value
        for block, values in run.items()
        if isinstance(values, Mapping)
        for key, value in values.items()
        if key != "name"
    }


def _shared(run: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((k, v) for k, v in flat(run).items() if k.split(".")[0] in _ALIKE)


def _difference(key: str, values: Mapping[str, Mapping[str, Any]]) -> str:
    groups: dict[str, list[str]] = {}
    for label, own in values.items():
        if key in own:
            groups.setdefault(_shown(own[key]), []).append(label)
    if len(groups) < 2:
        return ""
    parts = [f"{value} ({', '.join(labels)})" for value, labels in groups.items()]
    return f"{_named(key)} {' or '.join(parts)}"


def _named(key: str) -> str:
    name = key.partition(".")[2]
    return {"max_train_per_class": "training images per class"}.get(name, name.replace("_", " "))


def _shown(value: object) -> str:
    return "none" if value is None or value is False else str(value)
