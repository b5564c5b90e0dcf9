"""How templates show things: escaped in pages, fit for a table in Markdown."""

import jinja2
import pytest

from sweeper.report.templates import FOLDER, file_text, in_markdown, jinja_environment
from tests.sweeper.records import HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines,  two spaces", "two lines, two spaces"),
        ("a | b", "a \\| b"),
        ("<b> & &lt;", "&lt;b> &amp; &amp;lt;"),
        (0.5, "0.5"),
    ],
)
def test_a_cell_of_markdown_has_no_line_ends_bars_or_tags(text: object, shown: str) -> None:
    assert in_markdown(text) == shown


@pytest.mark.parametrize("name", ["page.html", "table1/page.html"])
def test_pages_escape_what_they_show(name: str) -> None:
    environment = jinja_environment()
    assert environment.autoescape(name)  # type: ignore[operator]
    overlay = environment.overlay(autoescape=True)
    assert "<script>" not in overlay.from_string("{{ text }}").render(text=HOSTILE)


@pytest.mark.parametrize("name", ["page.md", "table1/page.md", None])
def test_other_texts_are_shown_as_they_are(name: str | None) -> None:
    assert not jinja_environment().autoescape(name)  # type: ignore[operator]


def test_a_name_that_is_not_known_is_an_error_and_not_an_empty_place() -> None:
    with pytest.raises(jinja2.UndefinedError, match="'nothing' is undefined"):
        jinja_environment().from_string("{{ nothing }}").render()


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.*ml"))
)
def test_every_template_can_be_read(name: str) -> None:
    assert jinja_environment().get_template(name)


def test_a_file_is_given_as_it_is() -> None:
    assert file_text("page.css") == (FOLDER / "page.css").read_text(encoding="utf-8")
