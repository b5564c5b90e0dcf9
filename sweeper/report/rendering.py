"""What came out of a sweep, as one page that needs nothing else, as Markdown and as CSV."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeper.report import page
from sweeper.results.facts import Facts

_NO_LINKS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Report:
    """The three forms of a report, the file of its sweep, and pictures where there are any."""

    html: str
    markdown: str
    csv: str
    sweep: tuple[str, str]  # its name and its text
    svg: str = ""
    tree: str = ""

    @property
    def files(self) -> dict[str, str]:
        """The text of each file by its name."""
        files = {"report.html": self.html, "report.md": self.markdown, "trials.csv": self.csv}
        files[f"{self.sweep[0]}.yaml"] = self.sweep[1]
        pictures = {"differences.svg": self.svg, "first_tasks.svg": self.tree}
        return {**files, **{name: text for name, text in pictures.items() if text}}

    def write(self, folder: Path) -> list[Path]:
        """Write all forms into a folder; gives their paths."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in self.files]


def render(facts: Facts, about: Mapping[str, str], links: Mapping[str, str] = _NO_LINKS) -> Report:
    """A pure function: the same facts, the same report.

    Args:
        facts: of a sweep's trials and reruns.
        about: label -> text: versions, commit, paths, whatever else a rerun needs.
        links: to the runs of trials in MLflow, by their keys there.
    """
    return Report(
        page.html(facts, about, links),
        page.markdown(facts, about),
        page.csv_text(facts),
        (facts.sweep.name, facts.sweep.text),
        page.differences(facts),
        page.first_tasks(facts),
    )
