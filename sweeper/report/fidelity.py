"""Whether a short budget chooses as a long one does, in words and as a table."""

from sweeper.report.templates import in_markdown
from sweeper.results.facts import Facts
from sweeper.results.fidelity import Both, Fidelity, fidelity
from sweeper.results.texts import NOTHING, counted, in_line, in_points


def markdown(short: Facts, long: Facts) -> str:
    """The two orders of the configurations that both sweeps have finished."""
    found = fidelity(short, long)
    epochs = [_epochs(facts) for facts in (short, long)]
    head = ("configuration", *(f"ACC, {n} (%)" for n in epochs), *(f"place, {n}" for n in epochs))
    lines = [head, ("---", *["---:"] * 4), *map(_line, found.pairs)]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{summary(found)}\n\n{rows}\n"


def summary(found: Fidelity) -> str:
    """Rank correlation, and how far the winner moves, in two sentences."""
    n = counted(len(found.pairs), "configuration")
    missing = f" ({found.n_unpaired} more finished in one only)" if found.n_unpaired else ""
    return (
        f"Spearman's rank correlation over {n}{missing}: {_correlation(found)}. The winner of the "
        f"short budget is number {found.winner.long_place:g} of the long one, "
        f"{in_points(found.loss)} points below its winner, which is number "
        f"{found.long_winner.short_place:g} of the short one. One seed each, validation data."
    )


def _correlation(found: Fidelity) -> str:
    if found.correlation is None:
        return f"{NOTHING} (one order is of equal ones only)"
    if found.interval is None:
        return f"{found.correlation:.2f}"
    low, high = found.interval
    return f"{found.correlation:.2f} [{low:.2f}, {high:.2f}]"


def _line(one: Both) -> tuple[str, ...]:
    scores = in_points(one.short), in_points(one.long)
    places = f"{one.short_place:g}", f"{one.long_place:g}"
    return in_markdown(in_line(one.values)), *scores, *places


def _epochs(facts: Facts) -> str:
    """How long a sweep trains, as resolved."""
    run = facts.best.run if facts.best else facts.sweep.run
    return counted(run.get("training", {}).get("epochs", 0), "epoch")
