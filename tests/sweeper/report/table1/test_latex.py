"""The paper's table in LaTeX: well-formed, whole, nothing taken for a command."""

import re

from sweeper.report.table1.paper import table1
from sweeper.results.texts import in_points
from tests.sweeper.report.table1.forms import TABLE


def test_the_latex_is_balanced(forms: dict[str, str]) -> None:
    text = re.sub(r"\\[{}%]", "", forms["table1.tex"])
    depth = 0
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0 and text.count("$") - text.count(r"\$") == 2 * (len(_maths(text)))
    begun = re.findall(r"\\begin\{([a-z*]+)\}", text)
    assert begun == list(reversed(re.findall(r"\\end\{([a-z*]+)\}", text)))


def _maths(text: str) -> list[str]:
    return re.findall(r"(?<!\\)\$[^$]+(?<!\\)\$", text)


def test_every_line_of_the_latex_table_has_fifteen_columns(forms: dict[str, str]) -> None:
    body = forms["table1.tex"].partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    lines = [line for line in body.split("\n") if line.endswith(r"\\")]
    assert len(lines) > 2 * len(TABLE.entries)
    for line in lines:
        n_wide = line.count(r"\multicolumn{2}")
        assert len(re.findall(r"(?<!\\)&", line)) + n_wide == 14, line


def test_the_latex_has_our_numbers_and_the_papers(forms: dict[str, str]) -> None:
    text = forms["table1.tex"]
    assert r"EWC & $95.00 \pm 2.00$\textsuperscript{1} & $-4.00 \pm 2.00$ & " in text
    papers = re.findall(r"\\textcolor\{alike\}\{\$(\d\d\.\d\d)\$\}", text)
    assert sorted(papers) == sorted(in_points(cell.acc) for cell in table1())


def test_what_latex_takes_for_its_own_is_escaped(forms: dict[str, str]) -> None:
    text = forms["table1.tex"]
    name = r"50\%\_\&\#\$\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} $<$script$>$"
    assert name in text and r"not shown: b\_2" in text
    assert [line for line in text.split("\n") if re.search(r"(?<!\\)%", line)] == [
        line for line in text.split("\n") if line.startswith("%") or line.endswith("{%")
    ]
