"""The command for the first who has a GPU: what can be shown of it without one."""

import json
from pathlib import Path

import pytest
import torch

from tests.performance import gpu

CPU = torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_without_a_gpu_it_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert gpu.main(["--output", str(tmp_path / "gpu.md")]) == 2
    assert "must see a GPU, but sees none" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_all_figures_are_in_one_table_and_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"mlp": {"over_twin": 2.5, "moment_ms": 1.25}, "digits": {"finished": 4.0}}
    line = gpu.report(found, {"device": "a GPU", "torch": "2"}, tmp_path / "gpu.md")
    assert json.loads(line) == {"device": "a GPU", "torch": "2", **found}
    written = (tmp_path / "gpu.md").read_text()
    assert line in written
    assert "over_twin" in capsys.readouterr().out
    assert "a GPU, PyTorch 2" in written


def test_an_interrupted_run_is_held_against_a_whole_one() -> None:
    assert gpu.equalities(CPU) == {"resumed_equals_whole": 1.0, "eager_equals_captured": 1.0}
