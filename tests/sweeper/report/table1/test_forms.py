"""The paper's table as it is read: terminal, page, Markdown, CSV, LaTeX, and the command."""

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sweeper.commands.table import main
from sweeper.ledger import Ledger, Stage
from sweeper.report.table1.cells import Table, paper_rows, table_of
from sweeper.report.table1.paper import COLUMNS, table1
from sweeper.report.table1.terminal import show
from sweeper.report.table1.words import raised
from sweeper.report.table1.writing import files
from sweeper.results.records import Rerun
from sweeper.results.texts import in_points
from tests.sweeper.records import HOSTILE, Page
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


@pytest.fixture(scope="module")
def forms() -> dict[str, str]:
    return files(TABLE)


def printed(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(table, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def assert_each_once(text: str) -> None:
    """All printed pairs, as often as the paper has them."""
    found = re.findall(r"\b\d\d\.\d\d / [+-]?\d+\.\d\d", text)
    assert sorted(found) == sorted(PRINTED)


# Terminal


@pytest.mark.parametrize("width", [60, 80, 160, 250])
def test_the_terminal_shows_every_cell_at_every_width(width: int) -> None:
    text = printed(table_of([recorded({"name": "ewc"})]), width)
    assert_each_once(text)
    assert all(column.label in text for column in COLUMNS)
    assert max(map(len, text.split("\n"))) <= width


def test_the_terminal_shows_our_numbers_line_by_line() -> None:
    lines = printed(table_of([recorded({"name": "ewc"})]), 160).split("\n")
    start = next(place for place, line in enumerate(lines) if "EWC" in line)
    cells = [[part.strip() for part in line.split("│")] for line in lines[start : start + 6]]
    assert [row[2] for row in cells] == ["ACC", "BWT", "paper", "diff.", "from", ""]
    ours = ["95.00 ± 2.00", "-4.00 ± 2.00", "98.12 / -1.03", "-3.12 / -2.97"]
    assert [row[3] for row in cells] == [*ours, "2 trials", "3 seeds"]
    assert [row[4] for row in cells] == ["no sweep", "", "99.18 / -0.57", "", "", ""]


def test_the_terminal_prints_names_as_they_are() -> None:
    table = table_of([recorded({"name": "[red]mine[/red]"})], ["[bold]x[/bold]: why"])
    text = printed(table, 250)
    assert "[red]mine[/red]" in text and "Not in the table: [bold]x[/bold]: why" in text


# Page and Markdown


def test_the_page_has_every_cell_and_needs_nothing_else(forms: dict[str, str]) -> None:
    page = Page(forms["table1.html"])
    assert page.is_balanced and not page.open
    assert_each_once(re.sub(r"[+-]\d+\.\d\d / [+-]\d+\.\d\d", "", page.text))
    addresses = [a.get("src") or a.get("href") for _, a in page.tags]
    assert not [address for address in addresses if address and "//" in address]


def test_the_page_shows_our_numbers_and_what_is_missing(forms: dict[str, str]) -> None:
    text = Page(forms["table1.html"]).text
    whole = "95.00 ± 2.00 1 BWT -4.00 ± 2.00 paper 98.12 / -1.03 -3.12 / -2.97 2 trials, 3 seeds"
    assert whole in text
    assert "search: 1 of 2 trials paper 98.85 / -0.08" in text
    assert "93.00 BWT -2.00 paper 98.79 / 0.00 -5.79 / -2.00 2 trials, 1 of 3 reruns" in text


def test_the_page_escapes_names(forms: dict[str, str]) -> None:
    page = Page(forms["table1.html"])
    assert "alert('x')" in page.text
    assert "script" not in [tag for tag, _ in page.tags]


def test_every_mark_has_its_footnote(forms: dict[str, str]) -> None:
    page = Page(forms["table1.html"])
    marks = {a["href"] for tag, a in page.tags if tag == "a" and "#" in str(a.get("href"))}
    assert marks == {f"#note-{n}" for n in range(1, len(TABLE.notes) + 1)}
    assert {str(mark)[1:] for mark in marks} <= page.ids()
    assert all(raised(n) in forms["table1.md"] for n in range(1, len(TABLE.notes) + 1))


def test_the_markdown_is_a_table_of_eight_columns(forms: dict[str, str]) -> None:
    lines = [line for line in forms["table1.md"].split("\n") if line.startswith("|")]
    assert len(lines) == 2 + len(TABLE.entries)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {9}
    assert_each_once(" ".join(re.findall(r"paper ([^<|]*)", "\n".join(lines))))
    assert "**95.00 ± 2.00**¹<br>BWT -4.00 ± 2.00<br>paper 98.12 / -1.03" in lines[2]


@pytest.mark.parametrize("form", ["table1.md", "table1.html", "table1.tex"])
def test_every_form_states_the_protocol(form: str, forms: dict[str, str]) -> None:
    text = forms[form].replace("&#39;", "'")
    assert "Not the paper's protocol (250 epochs, batch 500)" in text
    assert "epochs 9 (paper: 250): 2-Split MNIST, only EWC" in text


# CSV


def test_the_csv_gives_the_table_back(forms: dict[str, str]) -> None:
    lines = list(csv.DictReader(io.StringIO(forms["table1.csv"])))
    read = [(x["row"], x["benchmark"], int(x["n_tasks"])) for x in lines]
    assert read[:91] == [(c.row, c.benchmark, c.n_tasks) for c in table1()] and len(read) == 98
    paper = [(float(x["paper_acc"]), float(x["paper_bwt"])) for x in lines[:91]]
    assert paper == [(c.acc, c.bwt) for c in table1()]
    assert [x["row"] for x in lines if x["paper_is_slip"] == "1"] == ["MAS"]


def test_the_csv_has_fractions_as_measured(forms: dict[str, str]) -> None:
    ewc, *_ = csv.DictReader(io.StringIO(forms["table1.csv"]))
    numbers = ("acc", "acc_deviation", "bwt", "bwt_deviation", "acc_difference", "bwt_difference")
    expected = [0.95, 0.02, -0.04, 0.02, -0.0312, -0.0297]
    assert [float(ewc[name]) for name in numbers] == pytest.approx(expected)
    counts = ("seeds", "seeds_planned", "trials_finished", "trials_planned")
    assert [ewc[name] for name in counts] == ["3", "3", "2", "2"]
    assert (ewc["sweep"], ewc["departures"]) == ("a", "epochs 9 (paper: 250)")


# LaTeX


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


# The command


def run_all(stage: Stage[Any], run: Mapping[str, Any], scores: list[float]) -> None:
    for acc in scores:
        asked = stage.ask()
        assert asked is not None
        stage.note_run(asked.number, run)
        R = [[acc, None], [acc, acc]]
        outcome = {"metrics": {"acc": acc, "bwt": 0.0}, "seeds": [0], "R": [R], "seconds": 1.0}
        stage.finish(asked.number, outcome)
    assert stage.ask() is None


@pytest.fixture
def sweeps(tmp_path: Path, no_waiting_for_the_disk: None) -> Path:
    """A folder with a real ledger two folders deep: trials 0.8 and 0.9, reruns 0.85 and 0.95."""
    place = tmp_path / "mine" / "ewc.2"
    place.mkdir(parents=True)
    begun = recorded({"name": "ewc"}, select={"seeds": 2})
    ledger, run = Ledger(place), begun.bound_runs[0]
    ledger.begin(begun.sweep)
    ledger.bound_runs = begun.bound_runs
    run_all(ledger.search(begun.sweep), run, [0.8, 0.9])
    run_all(ledger.reruns([Rerun(1, seed) for seed in (1, 2)]), run, [0.85, 0.95])
    return tmp_path


def test_the_command_writes_four_files_from_real_ledgers(
    sweeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(sweeps)]) == 0
    text = capsys.readouterr().out
    names = ["table1.html", "table1.md", "table1.csv", "table1.tex"]
    assert text.split("\n")[-5:-1] == [str(sweeps / name) for name in names]
    assert "90.00 ± 7.07" in text  # the deviation of 85 and 95 is 10 / sqrt(2)
    ewc, *_ = csv.DictReader((sweeps / "table1.csv").read_text(encoding="utf-8").splitlines())
    assert (ewc["sweep"], float(ewc["acc"])) == ("mine/ewc.2", pytest.approx(0.9))
    page = (sweeps / "table1.html").read_text(encoding="utf-8")
    assert 'href="mine/ewc.2/report.html"' in page


def test_a_sweep_that_has_not_begun_is_named_beside_the_others(
    sweeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sweeps / "new").mkdir()
    (sweeps / "new" / "study.journal").touch()
    assert main([str(sweeps)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "90.00 ± 7.07" in text and "new: must be the folder of a sweep" in text


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_a_folder_without_sweeps_is_refused_with_advice(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert "a folder with sweeps at any depth must be given" in error
    assert "sweeper.launch search_spaces/table1/" in error


def test_a_sweep_that_was_only_bound_has_its_cell_and_says_what_departs(
    sweeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bound = recorded({"name": "si"}, [], [], epochs=9)
    (sweeps / "si").mkdir()
    ledger = Ledger(sweeps / "si")
    ledger.begin(bound.sweep)
    ledger.bound_runs = bound.bound_runs
    assert main([str(sweeps)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "search: 0 of 2" in text and "epochs 9 (paper: 250): 2-Split MNIST, only SI" in text


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "sweeper table sweeps" in capsys.readouterr().out


def test_the_folder_has_a_default(
    sweeps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (sweeps / "sweeps").mkdir()
    (sweeps / "mine").rename(sweeps / "sweeps" / "table1")
    monkeypatch.chdir(sweeps)
    assert main([]) == 0
    assert "sweeps/table1/table1.tex" in capsys.readouterr().out


def test_there_are_thirteen_rows() -> None:
    assert [row.label for row in paper_rows()][:2] == ["EWC", "SI"] and len(paper_rows()) == 13
