"""The contract finds what is wrong with a method, and says it in words."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpnet import contract, plugins
from mpnet.check import _methods, main
from mpnet.device_contract import device_faults
from mpnet.errors import ConfigError
from mpnet.methods import METHODS
from tests.mpnet.packages import METHOD, write_module

SAVED = 'self.register_buffer("anchor", self.trunk().detach().clone())'


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where Python looks; what its packages register is forgotten afterwards."""
    folder, before, modules = tmp_path / "outside", dict(METHODS._members), set(sys.modules)
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder
    METHODS._members = before
    plugins._fault_of_module.cache_clear()
    for name in set(sys.modules) - modules:
        if name.startswith("checked_"):
            del sys.modules[name]


def faulty(outside: Path, *changes: tuple[str, str]) -> str:
    """The name of a method whose text has been changed."""
    text = METHOD.format(name="faulty")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    write_module(outside, "checked_pack.method", text)
    assert _methods("checked_pack.method") == ["faulty"]
    return "faulty"


def test_a_buffer_that_is_no_state_is_named(outside: Path, tmp_path: Path) -> None:
    name = faulty(outside, (SAVED, "self.anchor = self.trunk().detach().clone()"))
    (fault,) = contract.resume_faults(contract.small_run(name), 3, tmp_path)
    assert fault.startswith("`anchor` is not in state_dict: a resumed run would be another run")


def test_a_buffer_that_is_not_saved_is_named(outside: Path, tmp_path: Path) -> None:
    name = faulty(outside, (SAVED, SAVED[:-1] + ", persistent=False)"))
    (fault,) = contract.resume_faults(contract.small_run(name), 3, tmp_path)
    assert fault.startswith("`anchor` is not in state_dict")


def test_a_head_that_is_pulled_along_is_named(outside: Path) -> None:
    whole = "def trained_parameters(self, t):\n        return list(self.parameters())\n\n    def "
    name = faulty(
        outside,
        ("def penalty", f"{whole}penalty"),
        ("self.trunk() - self.anchor).square().sum()", WITH_HEADS),
    )
    faults = contract.head_faults(contract.small_run(name))
    assert "the head of task 1 must rest while task 2 is trained" in faults


WITH_HEADS = (
    "self.trunk() - self.anchor).square().sum() "
    "+ 0.1 * sum(p.square().sum() for p in self.network.heads.parameters())"
)


def test_a_gradient_that_is_not_the_penalty_s_is_told(outside: Path) -> None:
    own = "def add_penalty_gradient(self, t):\n        pass\n\n    def "
    name = faulty(outside, ("def penalty", f"{own}penalty"))
    (fault,) = contract.penalty_faults(contract.small_run(name), 1)
    assert fault.startswith("task 2: add_penalty_gradient must add the gradient of penalty")


def test_a_seed_that_does_not_decide_is_told(outside: Path) -> None:
    noise = "self.anchor.uniform_(generator=torch.Generator().manual_seed(time.time_ns()))"
    changes = [("import torch\n", "import time\nimport torch\n"), ("self.is_held.fill_(1)", noise)]
    name = faulty(outside, *changes, ("* self.is_held ", ""))
    (fault,) = contract.seed_faults(contract.small_run(name))
    assert fault.startswith("the same seed must give the same result twice")


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("(self.trunk() - self.anchor).sum().item()", "must not ask a tensor for its value"),
        ("bool(self.trunk().sum() > 0)", "must not ask a tensor for its value"),
        ("self.trunk().cpu()", "must not ask a tensor for its value"),
        ("torch.zeros(())", "must stay on the device of the network"),
        ("self.trunk() * torch.tensor(2.0)", "must stay on the device of the network"),
    ],
    ids=["item", "if", "cpu", "CPU tensor", "CPU number"],
)
def test_a_step_that_a_gpu_would_wait_for_is_told_with_its_line(
    does: str, words: str, outside: Path
) -> None:
    begin = f"def begin_batch(self, progress):\n        {does}\n\n    def "
    name = faulty(outside, ("def penalty", f"{begin}penalty"))
    (fault,) = device_faults(contract.small_run(name), 1)
    assert fault.startswith("task 2: a training step") and words in fault
    n_lines = METHOD.partition("def penalty")[0].count("\n") + 2
    assert f"method.py:{n_lines})" in fault


def test_an_epoch_that_waits_too_often_is_told(outside: Path) -> None:
    own = "def penalty(self, t):\n        self.anchor.cpu() if torch.is_grad_enabled() else 0"
    name = faulty(outside, ("def penalty(self, t):", own), ("def end_task", f"{NO_STEP}end_task"))
    (fault,) = device_faults(contract.small_run(name), 0)
    assert (
        "must wait for the device once, and once for each evaluation, but waits 3 times" in fault
    )


NO_STEP = "def add_penalty_gradient(self, t):\n        pass\n\n    def "


def test_a_declaration_that_is_not_true_is_told(outside: Path, tmp_path: Path) -> None:
    declared = '"plain"\n    first_task = "plain"\n    later_options = frozenset({"strength"})'
    name = faulty(outside, ('"plain"', declared), ("* self.is_held ", ""))
    mine, other = (contract.small_run(n, network=contract.NORMED) for n in (name, "plain_ft"))
    (fault,) = contract.later_option_faults(mine, "strength")
    assert fault.startswith("`strength` is in later_options, but the first task differs")
    (fault,) = contract.shared_task_faults(other, mine, tmp_path)
    assert fault.startswith("first_task = 'plain' must be true, but behind a first task of")


def test_a_module_without_a_method_is_told(outside: Path) -> None:
    write_module(outside, "checked_pack.empty", "")
    with pytest.raises(ConfigError, match="must register a method, but does not"):
        _methods("checked_pack.empty")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["checked_pack.method", "strength=0.5"], 1, "it raises AttributeError"),
        (["checked_pack.absent"], 2, "No module named 'checked_pack.absent'"),
        (["checked_pack.method", "stength=0.5"], 2, "did you mean 'strength'?"),
        (["checked_pack.method", "strength"], 2, "must read key=value"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str],
    code: int,
    words: str,
    outside: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    faulty(outside, ("def penalty(self, t):", "def penalty(self, t):\n        self.absent"))
    assert main(arguments) == code
    assert words in " ".join(capsys.readouterr().out.split())
