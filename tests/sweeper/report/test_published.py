"""Pages that quote ledgers: what is computed, what differs, what cannot be."""

from pathlib import Path

import pytest

from sweeper.errors import SweepError
from sweeper.ledger import Ledger
from sweeper.report.published import published, with_results
from sweeper.results.records import Rerun
from tests.sweeper.ledgers import finish_all, opened, rerun_all, swept

QUOTED = "before\n\n<!-- results: one tests -->\n{}<!-- end -->\n\nafter\n"
pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with one sweep that was searched and rerun on the test sets: ACC 50 % always."""
    folder = tmp_path / "results" / "one"
    finish_all(opened(folder, swept(trials=2)))
    rerun_all(Ledger(folder).reruns([Rerun(0, seed) for seed in (1, 2)]))
    return tmp_path / "results"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_quotation_is_computed_and_the_words_around_it_stay(results: Path) -> None:
    written(results / "README.md", QUOTED.format("old\n"))
    (page,) = published(results)
    head, tail = page.computed.split("<!-- results: one tests -->\n")
    assert head == "before\n\n" and tail.endswith("<!-- end -->\n\nafter\n")
    assert "| 50.00 ± 0.00 |" in tail and "old" not in tail


def test_a_published_page_has_no_differences_and_a_changed_number_is_one(results: Path) -> None:
    path = written(results / "README.md", QUOTED.format(""))
    (page,) = published(results)
    assert any("+| " in line for line in page.differences)
    written(path, page.computed)
    assert published(results)[0].differences == []
    written(path, page.computed.replace("50.00", "50.01"))
    changed = published(results)[0].differences
    assert [line[0] for line in changed if "50.0" in line] == ["-", "+"]


def test_pages_of_docs_beside_the_folder_are_read_too(results: Path) -> None:
    path = written(results.parent / "docs" / "page.md", QUOTED.format(""))
    written(results.parent / "docs" / "other.md", "no numbers")
    assert [page.path for page in published(results)] == [path]


def test_the_whole_table_can_be_quoted(results: Path) -> None:
    written(results / "README.md", "<!-- results: . table1 -->\n<!-- end -->\n")
    (page,) = published(results)
    assert "| 5-Split MNIST |" in page.computed


def test_the_page_of_results_is_made_renewed_and_verified_with_the_files_of_its_sweeps(
    results: Path,
) -> None:
    path = results.parent / "docs" / "results.md"
    path.parent.mkdir()
    for made in with_results(path, results):
        written(made.path, made.computed)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Results\n\n<!-- results: . page -->\n")
    assert {page.path for page in published(results)} == {path, results / "one" / "s.yaml"}
    assert not any(page.differences for page in published(results))
    written(path, text.replace("# Results", "# Ours\n\nIn our words."))
    assert with_results(path, results)[0].computed.startswith("# Ours\n\nIn our words.\n")
    written(results / "one" / "s.yaml", "run: {}\n")
    changed = [page.path.name for page in published(results) if page.differences]
    assert changed == ["s.yaml"]


def test_the_page_of_no_sweeps_is_honest(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    [page] = with_results(tmp_path / "results.md", tmp_path / "results")
    assert "There is no sweep yet." in page.computed and "not tested" in page.computed


def test_a_page_that_has_no_place_for_results_is_left_alone(results: Path) -> None:
    path = written(results / "page.md", "mine\n")
    with pytest.raises(SweepError, match="must have `<!-- results: . page -->` where"):
        with_results(path, results)


def test_two_budgets_can_be_quoted(results: Path) -> None:
    written(results / "a.md", "<!-- results: one one fidelity -->\n<!-- end -->\n")
    (page,) = published(results)
    assert "rank correlation over 2 configurations" in page.computed
    written(results / "a.md", "<!-- results: one fidelity -->\n<!-- end -->\n")
    with pytest.raises(SweepError, match="fidelity must have 2 sweeps, but got 1"):
        published(results)


def test_all_quotations_that_cannot_be_computed_are_named_at_once(results: Path) -> None:
    written(results / "a.md", "<!-- results: one colours -->\n<!-- end -->\n")
    written(results / "b.md", "<!-- results: two tests -->\n<!-- end -->\n")
    written(results / "c.md", "<!-- results: one tests -->\n")
    with pytest.raises(SweepError) as refused:
        published(results)
    first, second, third = str(refused.value).split("\n")
    forms = "tests, groups, members, table1, page, fidelity"
    assert f"a.md: what is quoted must be one of {forms}" in first
    assert "b.md:" in second and "must be the folder of a sweep" in second
    assert "c.md: `<!-- results: one tests -->` must be followed by `<!-- end -->`" in third


def test_a_folder_that_nobody_quotes_is_refused(results: Path) -> None:
    with pytest.raises(SweepError, match="must quote a sweep"):
        published(results)
