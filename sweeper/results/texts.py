"""How numbers, values and commands read in a report. The only place of percent signs."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence

from mpnet.reading import dump_yaml
from sweeper.config.groups import Group
from sweeper.config.reseeding import Drawn, benchmark_seeds
from sweeper.results.comparison import CONFIDENCE, Difference
from sweeper.results.facts import AfterTask, Protected
from sweeper.results.records import TrialRecord
from sweeper.results.tested import Measured

NOTHING = "–"


def in_points(value: float | None, is_signed: bool = False) -> str:
    """A fraction in percent, without the sign that its column's head has."""
    if value is None:
        return NOTHING
    text = f"{100 * value:+.2f}" if is_signed else f"{100 * value:.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def percent(value: float | Measured | None, is_signed: bool = False) -> str:
    """A fraction as 99.23%, or 99.23 ± 0.05% for a mean over several runs."""
    if value is None:
        return NOTHING
    return f"{spread(value, is_signed)}%"


def reached(acc: float | Measured, bwt: float | Measured) -> str:
    """ACC and BWT in words."""
    return f"ACC {percent(acc)}  BWT {percent(bwt, is_signed=True)}"


def spread(value: float | Measured, is_signed: bool = False) -> str:
    """The text of `percent`, without the sign that its column's head has."""
    if not isinstance(value, Measured):
        return in_points(value, is_signed)
    mean = in_points(value.mean, is_signed)
    return mean if value.deviation is None else f"{mean} ± {in_points(value.deviation)}"


def coefficient(value: Measured) -> str:
    """A coefficient as 0.48, or 0.48 ± 0.02 for a mean over several runs."""
    deviation = "" if value.deviation is None else f" ± {value.deviation:.2f}"
    return f"{value.mean:.2f}{deviation}"


def protection_warnings(found: Protected | None) -> list[str]:
    """What a configuration that does not select says of it, after its first and last task."""
    tasks = dict.fromkeys([found.first, found.last]) if found else ()
    return [f"After task {a.task + 1}: {_warning(a)}." for a in tasks if a.warnings]


def _warning(after: AfterTask) -> str:
    n_said, n_runs = len(after.warnings), after.held.n
    return after.warnings[0] + (f" ({n_said} of {n_runs} runs)" if n_runs > 1 else "")


def difference(value: Difference) -> str:
    """A difference in points, with its interval; a star if that is clear of zero."""
    if value.interval is None:
        return in_points(value.mean, is_signed=True)
    low, high = (in_points(end, is_signed=True) for end in value.interval)
    star = " *" if value.is_clear else ""
    return f"{in_points(value.mean, is_signed=True)} [{low}, {high}]{star}"


def short_difference(value: Difference) -> str:
    """A difference in points ± half of its interval, for a terminal; a star if clear of zero."""
    mean = in_points(value.mean, is_signed=True)
    if value.half_width is None:
        return mean
    return f"{mean} ± {in_points(value.half_width)}{' *' if value.is_clear else ''}"


def by_chance(n: int) -> str:
    """What to think of so many intervals."""
    expected = n * (1 - CONFIDENCE)
    return (
        f"{counted(n, 'interval')} of {100 * CONFIDENCE:g}%: about {expected:.0f} would be clear "
        "of zero by chance alone"
    )


def duration(seconds: float) -> str:
    """A time in its two largest units."""
    days, rest = divmod(round(seconds), 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    first = next((place for place, (n, _) in enumerate(units) if n), 3)
    return " ".join(f"{n} {unit}" for n, unit in units[first : first + 2] if n) or "0 s"


def short_value(value: object) -> str:
    """A sampled value, short enough for a table."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def in_line(values: Mapping[str, object]) -> str:
    """Sampled values in one line, by the last parts of their paths."""
    names = short_names(values)
    return "  ".join(f"{names[path]}={short_value(value)}" for path, value in values.items())


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """The last part of each dotted path where that is enough; method for method.name."""
    listed = list(paths)
    last = {path: path.removesuffix(".name").rpartition(".")[2] for path in listed}
    taken = list(last.values())
    return {path: last[path] if taken.count(last[path]) == 1 else path for path in listed}


def group_name(group: Group) -> str:
    """A group's name at the head of a row: texts speak for themselves, other values need names."""
    names = short_names(path for path, _ in group)
    words = [v if isinstance(v, str) else f"{names[path]}={short_value(v)}" for path, v in group]
    return " ".join(words) or "all others"


def shell_command(*words: str) -> str:
    """A command as a person types it here: behind `./run` where that is how we were called."""
    return shlex.join([*filter(None, [os.environ.get("MPNET_RUN")]), *words])


def resuming(command: str) -> str:
    """The command that goes on with what this one has begun."""
    return command.removesuffix(" --resume") + " --resume"


def counted(n: float, noun: str) -> str:
    """A count with its noun: 1 trial, 2 trials, 0.5 GPUs."""
    return f"{n:.10g} {noun}" if n == 1 else f"{n:.10g} {noun}s"


def megabytes(n_bytes: int) -> str:
    """A size as a person reads it."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"


def run_commands(
    file: str,
    trial: TrialRecord,
    test_seeds: Sequence[int],
    test_orders: Mapping[int, int] | None = None,
    reseed: Sequence[Drawn] = (),
) -> list[str]:
    """What trains one configuration without a sweep: on validation, and on test if it was.

    Args:
        file: the sweep's.
        trial: with the configuration.
        test_seeds: of its reruns on the class order of the search; the first one is told.
        test_orders: class order -> seed of its reruns on unseen ones; the first one is told.
        reseed: what reruns draw by their seed.
    """
    words = configuration_words(file, trial)
    search = [*words, "--seed", str(trial.seeds[0] if trial.seeds else 0)]
    tested = [(seed, dict[str, int]()) for seed in test_seeds[:1]]
    tested += [(seed, {"class_order": n}) for n, seed in list((test_orders or {}).items())[:1]]
    test = [[*words, *test_words(seed, reseed, order)] for seed, order in tested]
    return [shell_command(*command) for command in (search, *test)]


def configuration_words(file: str, trial: TrialRecord) -> list[str]:
    """The command of a configuration, without seed and split."""
    overrides = [f"{path}={_in_yaml(value)}" for path, value in trial.values.items()]
    return ["python", "-m", "mpnet", file, *overrides]


def test_words(
    seed: int, reseed: Sequence[Drawn], others: Mapping[str, int] | None = None
) -> list[str]:
    """What turns the command of a configuration into that of its rerun with a seed."""
    drawn = {**benchmark_seeds(reseed, seed), **(others or {})}
    own = [f"benchmark.{key}={value}" for key, value in drawn.items()]
    return [*own, "--split", "test", "--seed", str(seed)]


def _in_yaml(value: object) -> str:
    """1e-05 has to be written 1.0e-05 to be a number in YAML."""
    return dump_yaml(value).split("\n")[0]
