"""Numbers that Markdown pages quote from ledgers: written by a command, checked by another.

A page says where its numbers come from, in a comment that readers do not see:

    <!-- results: split_mnist groups -->
    ... what the ledger of results/split_mnist says, group by group ...
    <!-- end -->
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from sweeper.errors import SweepError
from sweeper.ledger import open_ledger
from sweeper.report import page
from sweeper.report.table1 import tables, writing

_HEAD = re.compile(r"<!-- results: (?P<folder>\S+) (?P<form>\S+) -->\n")
_TAIL = "<!-- end -->"


@dataclass(frozen=True)
class Page:
    """A page that quotes ledgers.

    Args:
        text: as it stands in the file.
        computed: the same with every quoted number computed anew.
    """

    path: Path
    text: str
    computed: str

    @property
    def differences(self) -> list[str]:
        """The lines that differ, as `diff -u` shows them; none if all numbers are right."""
        texts = self.text.splitlines(), self.computed.splitlines()
        names = str(self.path), "the ledgers"
        return list(difflib.unified_diff(*texts, *names, n=0, lineterm=""))


def published(folder: Path) -> list[Page]:
    """The pages that quote the sweeps of a folder: its own, and those of `docs/` beside it.

    Raises:
        SweepError: there is no such page, or a quotation cannot be computed; all are named.
    """
    found, faults = [], []
    for path in _pages(folder):
        text = path.read_text(encoding="utf-8")
        if not _HEAD.search(text):
            continue
        try:
            found.append(Page(path, text, _computed(text, folder)))
        except SweepError as error:
            faults.append(f"{path}: {error}")
    if faults:
        raise SweepError("\n".join(faults))
    if not found:
        raise SweepError(
            f"{folder}: a page here or in {folder.parent / 'docs'} must quote a sweep between "
            f"`<!-- results: SWEEP {'|'.join(_FORMS)} -->` and `{_TAIL}`, but none does."
        )
    return found


def _pages(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.md"))
    yield from sorted((folder.absolute().parent / "docs").glob("*.md"))


def _computed(text: str, folder: Path) -> str:
    """A page with all quotations computed from the ledgers."""
    parts, rest = [], text
    while head := _HEAD.search(rest):
        old, tail, after = rest[head.end() :].partition(_TAIL)
        if not tail or _HEAD.search(old):
            raise SweepError(f"`{head[0].strip()}` must be followed by `{_TAIL}`, but is not.")
        new = _quotation(folder / head["folder"], head["form"])
        parts += [rest[: head.end()], new.strip("\n"), f"\n{_TAIL}"]
        rest = after
    return "".join([*parts, rest])


def _quotation(folder: Path, form: str) -> str:
    if form not in _FORMS:
        raise SweepError(f"what is quoted must be one of {', '.join(_FORMS)}, but got {form!r}.")
    return _FORMS[form](folder)


def _part(name: str) -> Callable[[Path], str]:
    return lambda folder: page.part(open_ledger(folder).facts(), name)


def _table(folder: Path) -> str:
    return tables.markdown(writing.collected(folder, Console(quiet=True)))


_FORMS: Mapping[str, Callable[[Path], str]] = {
    "tests": _part("tests"),
    "groups": _part("groups"),
    "members": _part("members"),
    "table1": _table,
}
