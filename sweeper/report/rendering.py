"""What came out of a sweep, as one page that needs nothing else, as Markdown and as CSV."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeper.report import page
from sweeper.results.facts import Facts


@dataclass(frozen=True)
class Report:
    """The three forms of a report, and the picture of its comparison, if there is one."""

    html: str
    markdown: str
    csv: str
    svg: str = ""

    @property
    def files(self) -> dict[str, str]:
        """The text of each file by its name."""
        files = {"report.html": self.html, "report.md": self.markdown, "trials.csv": self.csv}
        return {**files, "differences.svg": self.svg} if self.svg else files

    def write(self, folder: Path) -> list[Path]:
        """Write all forms into a folder; gives their paths."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in self.files]


def render(facts: Facts, about: Mapping[str, str]) -> Report:
    """A pure function: the same facts, the same report.

    Args:
        facts: of a sweep's trials and reruns.
        about: label -> text: versions, commit, paths, whatever else a rerun needs.
    """
    return Report(
        page.html(facts, about),
        page.markdown(facts, about),
        page.csv_text(facts),
        page.differences(facts),
    )
