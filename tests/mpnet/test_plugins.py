"""What is registered outside this project runs as if it were inside, or is named as faulty."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpnet import plugins
from mpnet.__main__ import main
from mpnet.analysis._runs import load_runs
from mpnet.config import load_run, parse_run
from mpnet.errors import ConfigError
from mpnet.methods import METHODS
from mpnet.plugins import load_plugins
from mpnet.reading import merged
from tests.mpnet.conftest import digits_run
from tests.mpnet.packages import METHOD, declare, write_module

RUN = """
plugins: [{module}]
run:
  network: {{name: mlp, hidden: [8]}}
  method: {{name: {method}, strength: 0.5}}
  training: {{epochs: 1, batch_size: 200}}
  device: cpu
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where Python looks; what its packages register is forgotten afterwards."""
    folder = tmp_path / "outside"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = dict(METHODS._members)
    plugins._faults_of_installed.cache_clear()
    yield folder
    METHODS._members = before
    plugins._faults_of_installed.cache_clear()
    plugins._fault_of_module.cache_clear()


def test_a_run_with_a_method_of_a_plugin_is_trained_and_read_back(
    outside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_module(outside, "trained_pack.springs", METHOD.format(name="springs_a"))
    file, folder = tmp_path / "mine.yaml", tmp_path / "run"
    file.write_text(RUN.format(module="trained_pack.springs", method="springs_a"))
    assert main([str(file), "--output", str(folder)]) == 0, capsys.readouterr().err
    assert json.loads((folder / "config.json").read_text())["plugins"] == ["trained_pack.springs"]
    (found,) = load_runs([folder])
    assert type(found.method).__module__ == "trained_pack.springs"
    assert found.method.strength == 0.5


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("absent_pack.method", "", "No module named 'absent_pack'; install it, or put"),
        ("raising_pack.method", "1 / 0", "it raises ZeroDivisionError: division by zero."),
        ("leaving_pack.method", "raise SystemExit(3)", "it raises SystemExit: 3."),
        ("broken_pack.method", "def f(:", "it raises SyntaxError: "),
        ("taken_pack.method", METHOD.format(name="lra"), "takes that of mpnet.methods.lra."),
    ],
)
def test_a_faulty_plugin_is_named_each_time(
    module: str, text: str, words: str, outside: Path, tmp_path: Path
) -> None:
    if text:
        write_module(outside, module, text)
    file = tmp_path / "mine.yaml"
    file.write_text(RUN.format(module=module, method="ewc"))
    said = []
    for _ in range(2):
        with pytest.raises(ConfigError, match=re.escape(words)) as caught:
            load_run(file)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert said[0].startswith(f"plugins: {module}: ")


def test_all_faulty_plugins_are_named_at_once(outside: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_plugins(["absent_one", "absent_two"])
    assert len(str(caught.value).splitlines()) == 2


def test_an_installed_package_needs_no_key(outside: Path) -> None:
    write_module(outside, "entered_pack.springs", METHOD.format(name="springs_b"))
    declare(outside, "entered", "mpnet.methods", "springs_b = entered_pack.springs")
    assert digits_run("springs_b").method == {"name": "springs_b", "strength": 1.0}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("other = named_pack.springs", "must register the method 'other', but does not"),
        ("springs_c = lacking_pack.springs", "No module named 'lacking_pack'"),
    ],
)
def test_a_faulty_entry_point_is_named_with_its_package(
    entry: str, words: str, outside: Path
) -> None:
    write_module(outside, "named_pack.springs", METHOD.format(name=f"springs_{len(entry)}"))
    declare(outside, "faulty", "mpnet.methods", entry)
    with pytest.raises(ConfigError, match=re.escape(words)) as caught:
        load_plugins()
    assert f"entry point {entry} of mpnet.methods" in str(caught.value)
    assert "uninstall faulty" in str(caught.value)


def test_plugins_must_be_a_list() -> None:
    with pytest.raises(ConfigError, match="run.plugins: input should be a valid list, but got"):
        parse_run({"plugins": "my_package"})


def test_plugins_of_two_files_add_up() -> None:
    below, above = {"plugins": ["a", "b"]}, {"plugins": ["b", "c"]}
    assert merged(below, above) == {"plugins": ["a", "b", "c"]}


def test_a_run_without_plugins_is_the_run_that_it_was_before_there_were_any() -> None:
    plain, other = digits_run("ewc"), digits_run("ewc", plugins=["json"])
    assert "plugins" not in plain.identity() + str(plain.first_task_identity())
    assert plain.identity() != other.identity()
    assert plain.first_task_identity() != other.first_task_identity()
