"""What came out of a sweep, as one page that needs nothing else, as Markdown and as CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.facts import facts_of
from sweeper.records import TrialRecord
from sweeper.report import page
from sweeper.sweep import Sweep

__all__ = ["Report", "render"]


@dataclass(frozen=True)
class Report:
    """The three forms of a report, and the picture of its comparison, if there is one."""

    html: str
    markdown: str
    csv: str
    svg: str = ""

    @property
    def files(self) -> dict[str, str]:
        """Name -> text."""
        files = {"report.html": self.html, "report.md": self.markdown, "trials.csv": self.csv}
        return {**files, "differences.svg": self.svg} if self.svg else files

    def write(self, folder: Path) -> list[Path]:
        """All forms into a folder; gives their paths."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in self.files]


def render(
    sweep: Sweep,
    trials: Sequence[TrialRecord],
    tests: Sequence[TrialRecord],
    about: Mapping[str, str],
) -> Report:
    """A pure function: the same records, the same report.

    Args:
        sweep: what was asked for.
        trials: of the search, in any state.
        tests: reruns on the test split, values "configuration" and "seed", one R each.
        about: label -> text: versions, commit, paths, whatever else a rerun needs.
    """
    facts = facts_of(sweep, trials, tests)
    return Report(
        page.html(facts, about),
        page.markdown(facts, about),
        page.csv_text(facts),
        page.differences(facts),
    )
