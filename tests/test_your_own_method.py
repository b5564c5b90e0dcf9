"""The commands of docs/your-own-method.md do what it says, as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "your-own-method.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
SHELL = [text for kind, text in BLOCKS if kind == "bash"]


def _printed(folder: Path, commands: str) -> str:
    """What the commands print in a folder with all files of the page."""
    for kind, text in BLOCKS:
        if kind in ("python", "yaml"):
            path = folder / text.splitlines()[0].removeprefix("# ")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    places = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env={**os.environ, **places},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_commands_without_ray_check_the_method_and_train_it(tmp_path: Path) -> None:
    checked, run, _ = SHELL
    printed = _printed(tmp_path, f"{checked}\n{run}")
    assert "All is well." in printed
    assert printed.count('"acc"') == 2


@pytest.mark.slow
def test_all_commands_go_from_the_file_to_the_table(tmp_path: Path) -> None:
    printed = _printed(tmp_path, "\n".join(SHELL))
    for row in ("springs", "plain_ft"):
        assert f"[finished] {row}.digits_5" in printed


def test_the_page_names_what_the_check_would_say() -> None:
    said = re.findall(r"it would say: (.*)\.\n", PAGE)
    source = (ROOT / "mpnet" / "contract.py").read_text()
    assert len(said) == 1
    assert said[0].removeprefix("`anchor` ") in source
