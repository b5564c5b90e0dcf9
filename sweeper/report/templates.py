"""The templates of this folder, and how they show things."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sweeper.results import texts

FOLDER = Path(__file__).parent


def in_markdown(text: object) -> str:
    """A text fit for a cell of a table: no line ends, no bars, no tags."""
    flat = " ".join(str(text).split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


@cache
def jinja_environment() -> Environment:
    """Jinja with our filters; pages escape what they show."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = ("percent", "spread", "coefficient", "duration", "difference", "by_chance")
    names = ("counted", "short_names", "group_name", "in_line")
    made.filters |= {name: getattr(texts, name) for name in (*numbers, *names)}
    made.filters |= {"points": texts.in_points, "shown": texts.short_value, "md": in_markdown}
    return made


@cache
def file_text(name: str) -> str:
    """A file of this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")
