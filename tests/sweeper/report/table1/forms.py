"""A table with everything in it: results, gaps, a slip, notes, hostile names."""

import re

from sweeper.report.table1.cells import table_of
from sweeper.report.table1.paper import table1
from sweeper.results.texts import in_points
from tests.sweeper.records import HOSTILE
from tests.sweeper.table1_records import TESTS, TRIALS, recorded

TABLE = table_of(
    [
        recorded({"name": "ewc"}, epochs=9),
        recorded({"name": "si"}, TRIALS[:1], []),
        recorded({"name": "mas"}, benchmark={"name": "split_cifar10", "n_tasks": 2}),
        recorded({"name": "hat"}, tests=TESTS[:1]),
        recorded({"name": f"50%_&#${{}}~^\\ {HOSTILE}"}, folder=HOSTILE),
        recorded({"name": "ewc"}, TRIALS[:1], [], folder="b_2"),
    ],
    [f"c: {HOSTILE}"],
)
PRINTED = [f"{in_points(c.acc)} / {in_points(c.bwt, is_signed=True)}" for c in table1()]


def assert_each_once(text: str) -> None:
    """All printed pairs, as often as the paper has them."""
    found = re.findall(r"\b\d\d\.\d\d / [+-]?\d+\.\d\d", text)
    assert sorted(found) == sorted(PRINTED)
