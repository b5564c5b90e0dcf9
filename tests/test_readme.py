"""What the README promises is what the project does."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch

from mpnet.layers.moment import Moments

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("[a-z]*/*.md")])


def test_the_python_example_runs_and_gives_a_distribution() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    x, y = torch.randn(8, 784), torch.randint(10, (8,))
    names: dict[str, object] = {"batches": [(x, y)] * 2, "n_images": 16}
    exec(code, names)
    p = names["p"]
    assert isinstance(p, Moments)
    assert p.var is not None
    torch.testing.assert_close(p.mean.sum(1), torch.ones(8))
    assert (p.var > 0).all()


def test_ci_calls_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^(\./run pytest)\b", README, re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_files_named_in_the_readme_are_there() -> None:
    named = re.findall(r"`([\w/]+\.md)`|(search_spaces/\w+\.yaml)", README)
    assert all((ROOT / (a or b)).exists() for a, b in named)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_and_their_files_are_there(page: Path) -> None:
    """Numbers name the command that gave them: one that is gone would be none."""
    text = page.read_text()
    modules = set(re.findall(r"python -m ((?:mpnet|sweeper|tests)[\w.]*\w)", text))
    modules |= set(re.findall(r"`(tests\.performance\.\w+)", text))
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    files = set(re.findall(r"search_spaces/[a-z0-9_/]+\.yaml|tests/[\w/]+\.py", text))
    missing += [name for name in files if not (ROOT / name).exists()]
    assert not missing


def test_the_readme_fits_on_a_screen() -> None:
    assert len(README.splitlines()) < 60
