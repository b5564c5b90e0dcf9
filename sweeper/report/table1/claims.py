"""What the paper says of its table, and what ours says of that: pure functions."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from mpnet import metrics
from sweeper.report.table1.against import Cells, best, cells_of_column, difference
from sweeper.report.table1.cells import Table
from sweeper.report.table1.paper import COLUMNS, Column
from sweeper.report.table1.rows import CONTROLS, FF, FT, JT, LRA_VAR, OURS, PPBI_VAR, RIVALS, Row
from sweeper.results.comparison import Difference

MARGIN = 0.01  # within which two methods are "on par"
_EWC, _SI, _MAS, _UCL, _UCB, _HAT = RIVALS
_LRA, _PPBI = OURS[:2], OURS[2:]
_MNIST = tuple(c for c in COLUMNS if "mnist" in c.benchmark)
_CIFAR = tuple(c for c in COLUMNS if "cifar" in c.benchmark)
_MIXED = tuple(c for c in COLUMNS if c.benchmark == "cifar10_100")
_SEQUENCE = tuple(c for c in COLUMNS if c.benchmark == "sequence8")

Verdict = Literal["for", "against", "open", "not tested"]


class Claim(NamedTuple):
    """Something that the paper says, or that has to hold for what it says.

    Args:
        text: in our words.
        first: rows of which the best by validation data is meant.
        relation: to the best of the second.
        metric: that is compared.
    """

    text: str
    first: Sequence[Row]
    relation: Literal["above", "on par"]
    second: Sequence[Row]
    columns: Sequence[Column] = COLUMNS
    metric: Literal["acc", "bwt"] = "acc"


class Evidence(NamedTuple):
    """What a column says of a claim.

    Args:
        pair: the labels of the two rows; empty if not tested.
        difference: the first less the second; None if not tested.
    """

    column: Column
    verdict: Verdict
    pair: tuple[str, str] | tuple[()] = ()
    difference: Difference | None = None


CLAIMS = (
    Claim("LRA is above UCB, which sets rates by sampled uncertainty", _LRA, "above", (_UCB,)),
    Claim("PPBI is above UCL, which regularises by sampled uncertainty", _PPBI, "above", (_UCL,)),
    Claim(
        "LRA and PPBI are above methods without uncertainty (EWC, SI, MAS)",
        *(OURS, "above", (_EWC, _SI, _MAS)),
    ),
    Claim("LRA forgets less than fine-tuning", _LRA, "above", (FT,), metric="bwt"),
    Claim("PPBI forgets less than fine-tuning", _PPBI, "above", (FT,), metric="bwt"),
    Claim("LRA and PPBI have a higher ACC than fine-tuning", OURS, "above", (FT,)),
    Claim("LRA and PPBI are on par with HAT in ACC", OURS, "on par", (_HAT,)),
    Claim("LRA and PPBI gain little over frozen features", OURS, "on par", (FF,)),
    Claim("With CIFAR100 they gain over frozen features", OURS, "above", (FF,), _MIXED),
    Claim("PPBI is slightly above LRA on MNIST", _PPBI, "above", _LRA, _MNIST),
    Claim("LRA is slightly above PPBI on CIFAR", _LRA, "above", _PPBI, _CIFAR),
    Claim("LRA and PPBI are alike on the sequence of eight", _LRA, "on par", _PPBI, _SEQUENCE),
    Claim(
        "On the sequence of eight they are above all others but HAT",
        *(OURS, "above", RIVALS[:-1], _SEQUENCE),
    ),
    Claim("Joint training is the upper bound", (JT,), "above", OURS),
    Claim(
        "What LRA does lies in each weight's own rate (against one rate for all, and shuffled)",
        *((LRA_VAR,), "above", CONTROLS[LRA_VAR]),
    ),
    Claim(
        "What PPBI does lies in each weight's own KL weight (against one for all, and shuffled)",
        *((PPBI_VAR,), "above", CONTROLS[PPBI_VAR]),
    ),
)


def evidence(claim: Claim, table: Table) -> list[Evidence]:
    """What each column of a claim says of it."""
    return [_in_column(claim, column, cells_of_column(table, column)) for column in claim.columns]


def _in_column(claim: Claim, column: Column, cells: Cells) -> Evidence:
    first, second = best(cells, claim.first), best(cells, claim.second)
    metric = metrics.acc if claim.metric == "acc" else metrics.bwt
    found = difference(first, second, metric) if first and second else None
    if not (first and second and found):
        return Evidence(column, "not tested")
    pair = first.row.label, second.row.label
    return Evidence(column, _verdict(claim, found), pair, found)


def _verdict(claim: Claim, found: Difference) -> Verdict:
    if found.interval is None:
        return "open"
    low, high = found.interval
    if claim.relation == "above":
        return "for" if low > 0 else "against" if high < 0 else "open"
    if -MARGIN <= low and high <= MARGIN:
        return "for"
    return "against" if low > MARGIN or high < -MARGIN else "open"
