r"""The table in LaTeX, to be read in with \input."""

from collections.abc import Iterable, Iterator, Sequence

from sweeper.report.table1.cells import Table
from sweeper.report.table1.heading import TITLE, about
from sweeper.report.table1.paper import COLUMNS
from sweeper.report.table1.words import Look, Words, words
from sweeper.results.tested import Measured
from sweeper.results.texts import in_points

_HEAD = r"""% Needs \usepackage{booktabs,graphicx,xcolor}; read it in with \input{table1}.
\definecolor{better}{HTML}{0072B2}
\definecolor{worse}{HTML}{B5380B}
\definecolor{alike}{HTML}{55636F}
\begin{table*}
\centering
"""
_SPECIALS = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
}


def latex(table: Table) -> str:
    """One float, as wide as the page; up to five lines a method, two where nothing is known."""
    rows = words(table)
    n_paper = sum(bool(row[0].paper) for row in rows)
    bodies = ["\n".join(_lines(row)) for row in rows]
    lines = [
        _HEAD + rf"\caption{{{_escaped(_caption(table))}}}",
        r"\label{tab:table1}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'rr' * len(COLUMNS)}}}",
        r"\toprule",
        *_header(),
        r"\midrule",
        "\n\\addlinespace\n".join(bodies[:n_paper]),
        *([r"\midrule", "\n\\addlinespace\n".join(bodies[n_paper:])] if bodies[n_paper:] else []),
        r"\bottomrule",
        r"\end{tabular}}",
        *_notes(table),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return "".join(_SPECIALS.get(character, character) for character in text)


def _caption(table: Table) -> str:
    return " ".join([f"{TITLE}, in %.", *about(table)])


def _header() -> list[str]:
    heads = [rf"\multicolumn{{2}}{{c}}{{{_escaped(column.label)}}}" for column in COLUMNS]
    ends = range(2, 2 * len(COLUMNS) + 2, 2)
    rules = "".join(rf"\cmidrule(lr){{{end}-{end + 1}}}" for end in ends)
    return [_line("", heads), rules, _line("", ["ACC", "BWT"] * len(COLUMNS))]


def _line(label: str, cells: Iterable[str]) -> str:
    return " & ".join([label, *cells]) + r" \\"


def _lines(row: Sequence[Words]) -> Iterator[str]:
    """Ours, the paper's, the differences, what they rest on; ours on unseen class orders."""
    yield _line(_escaped(row[0].entry.row.label), [_ours(cell) for cell in row])
    is_known = any(cell.acc for cell in row)
    if any(cell.paper for cell in row):
        yield _line(r"\quad paper", [_paper(cell) for cell in row])
        if is_known:
            yield _line(r"\quad difference", [_differences(cell) for cell in row])
    if is_known:
        yield _line(r"\quad from", [_wide(_small(cell.basis)) for cell in row])
    if any(cell.orders for cell in row):
        yield _line(r"\quad unseen orders", [_unseen(cell) for cell in row])


def _ours(cell: Words) -> str:
    acc, bwt, mark = cell.entry.acc, cell.entry.bwt, _mark(cell.note)
    if not acc or not bwt:
        return _wide(rf"\footnotesize\itshape {_escaped(cell.missing)}{mark}")
    return f"{_spread(acc)}{mark} & {_spread(bwt, is_signed=True)}"


def _unseen(cell: Words) -> str:
    orders = cell.entry.orders
    if not orders:
        return _wide("")
    return f"{_spread(orders.acc)} & {_spread(orders.bwt, is_signed=True)}"


def _spread(value: Measured, is_signed: bool = False) -> str:
    deviation = rf" \pm {in_points(value.deviation)}" if value.deviation is not None else ""
    return f"${in_points(value.mean, is_signed)}{deviation}$"


def _paper(cell: Words) -> str:
    if not cell.paper:
        return _wide("")
    acc, bwt = (rf"\textcolor{{alike}}{{${text}$}}" for text in cell.paper)
    return f"{acc} & {bwt}{_mark(cell.paper_note)}"


def _differences(cell: Words) -> str:
    if not cell.differences:
        return _wide("")
    return " & ".join(_coloured(part.text, part.look) for part in cell.differences)


def _coloured(text: str, look: Look) -> str:
    return rf"\textcolor{{{look}}}{{${text}$}}"


def _small(text: str) -> str:
    return rf"\scriptsize {_escaped(text)}" if text else ""


def _wide(text: str) -> str:
    return rf"\multicolumn{{2}}{{c}}{{{text}}}"


def _mark(number: int) -> str:
    return rf"\textsuperscript{{{number}}}" if number else ""


def _notes(table: Table) -> list[str]:
    marked = [f"{_mark(n)} {_escaped(text)}." for n, text in enumerate(table.notes, start=1)]
    return [r"\par\medskip\footnotesize\raggedright", r"\\ ".join(marked)] if marked else []
