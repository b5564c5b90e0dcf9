"""Numbers that Markdown pages quote from ledgers: written by a command, checked by another.

A page says where its numbers come from, in a comment that readers do not see:

    <!-- results: split_mnist groups -->
    ... what the ledger of results/split_mnist says, group by group ...
    <!-- end -->

Files of sweeps beside their ledgers, by which commands on a page can be run, count as quoted too.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from sweeper.errors import SweepError
from sweeper.ledger import open_ledger
from sweeper.report import fidelity, page
from sweeper.report.table1 import tables, writing
from sweeper.report.table1.results_page import results_page
from sweeper.results.texts import counted

_HEAD = re.compile(r"<!-- results: (?P<folders>\S+(?: \S+)*) (?P<form>\S+) -->\n")
_TAIL = "<!-- end -->"
_RESULTS = "<!-- results: . page -->"


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

    Files of sweeps that are there come with them.

    Raises:
        SweepError: there is no such page, or a quotation cannot be computed; all are named.
    """
    found, faults = list[Page](), []
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
    return [*found, *(one for one in _sweep_files(folder) if one.text)]


def with_results(path: Path, folder: Path) -> list[Page]:
    """The page of results of a folder of sweeps, and the files of these sweeps.

    What stands around the quotation on a page that is there stays.

    Raises:
        SweepError: a page is there that does not quote the results.
    """
    new = f"# Results\n\n{_RESULTS}\n{_TAIL}\n"
    text = path.read_text(encoding="utf-8") if path.exists() else new
    if _RESULTS not in text:
        raise SweepError(f"{path}: must have `{_RESULTS}` where the results are to stand.")
    return [Page(path, text, _computed(text, folder)), *_sweep_files(folder)]


def _sweep_files(folder: Path) -> list[Page]:
    found = [Page(path, "", text) for path, text in writing.sweep_files(folder).items()]
    return [replace(p, text=p.path.read_text("utf-8")) if p.path.exists() else p for p in found]


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
        new = _quotation([folder / name for name in head["folders"].split()], head["form"])
        parts += [rest[: head.end()], new.strip("\n"), f"\n{_TAIL}"]
        rest = after
    return "".join([*parts, rest])


def _quotation(folders: Sequence[Path], form: str) -> str:
    if form not in _FORMS:
        raise SweepError(f"what is quoted must be one of {', '.join(_FORMS)}, but got {form!r}.")
    n_wanted = 2 if form == "fidelity" else 1
    if len(folders) != n_wanted:
        raise SweepError(f"{form} must have {counted(n_wanted, 'sweep')}, but got {len(folders)}.")
    return _FORMS[form](*folders)


def _part(name: str) -> Callable[[Path], str]:
    return lambda folder: page.part(open_ledger(folder).facts(), name)


def _table(folder: Path) -> str:
    return tables.markdown(writing.collected(folder, Console(quiet=True)))


def _results(folder: Path) -> str:
    return results_page(writing.found(folder, Console(quiet=True)), folder.resolve().name)


def _fidelity(short: Path, long: Path) -> str:
    return fidelity.markdown(open_ledger(short).facts(), open_ledger(long).facts())


_FORMS: Mapping[str, Callable[..., str]] = {
    "tests": _part("tests"),
    "groups": _part("groups"),
    "members": _part("members"),
    "table1": _table,
    "page": _results,
    "fidelity": _fidelity,
}
