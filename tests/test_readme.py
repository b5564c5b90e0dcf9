"""What the README promises is what the project does."""

import re
from pathlib import Path

import torch

from mpnet.layers.moment import Moments

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


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


def test_the_readme_fits_on_a_screen() -> None:
    assert len(README.splitlines()) < 60
