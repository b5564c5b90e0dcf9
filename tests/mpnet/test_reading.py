"""YAML as everyone means it, files that go on from others, and values put below keys."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mpnet.errors import ConfigError
from mpnet.reading import dump_yaml, parse_yaml, read_composed, read_yaml, set_value


def written(folder: Path, **files: str) -> Path:
    """The first of some files, one for each name."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / f"{next(iter(files))}.yaml"


# Values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("1.0e-5", 1e-5),
        ("-1E+3", -1000.0),
        (".5e3", 500.0),
        ("2e10", 2e10),
        ("0.5", 0.5),
        ("7", 7),
        ("null", None),
        ("true", True),
        ("'1e-5'", "1e-5"),
        ("1e-5x", "1e-5x"),
        ("e5", "e5"),
        ("[1e-3, {a: 1e-4}]", [1e-3, {"a": 1e-4}]),
    ],
)
def test_numbers_are_read_as_everyone_writes_them(text: str, value: object) -> None:
    found = parse_yaml(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "content", [{"a": "1e-5"}, {"a": 1e-5}, {"b": 1, "a": [None, "7", True, ""]}, []]
)
def test_what_is_written_is_read_again(content: object) -> None:
    assert parse_yaml(dump_yaml(content)) == content
    assert dump_yaml(parse_yaml(dump_yaml(content))) == dump_yaml(content)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("run: {}\nrun: {}", "run"),
        ("run: {method: {name: ft, tau_0: 1, name: ff}}", "name"),
        ("space:\n  - {a: 1, b: 2, a: 1}", "a"),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str, key: str) -> None:
    path = written(tmp_path, a=text)
    with pytest.raises(ConfigError, match=f"{key} stands twice in a block") as error:
        read_yaml(path)
    assert str(error.value).startswith(f"{path}: ")


def test_a_character_that_json_writes_in_two_halves_is_one() -> None:
    assert parse_yaml('{"\\ud83d\\ude00": "\\ud800\\udc00"}') == {"\U0001f600": "\U00010000"}


def test_half_a_character_is_refused() -> None:
    with pytest.raises(yaml.YAMLError, match="without half of a surrogate pair"):
        parse_yaml('key: "\\ud800"')


def test_a_merged_block_of_yaml_itself_may_be_changed() -> None:
    assert parse_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}")["b"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "a readable file must be there, but: No such file"),
        (b"a: [1", "valid YAML must be there"),
        (b"a: !!python/object:os.system {}", "valid YAML must be there"),
        (b"\xff\xfe\xfa", "it is not text"),
    ],
    ids=["missing", "half", "an object", "no text"],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=why) as error:
        read_composed(path)
    assert str(error.value).startswith(f"{path}: ")


# Files from files


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("{}", {"run": {"method": {"name": "ft", "tau_0": 1}, "epochs": 5}, "space": {"a.b": 1}}),
        (
            "{run: {epochs: 9}}",
            {"run": {"method": {"name": "ft", "tau_0": 1}, "epochs": 9}, "space": {"a.b": 1}},
        ),
        (
            "{run: {method: {name: ft, tau_1: 2}}, space: null}",
            {"run": {"method": {"name": "ft", "tau_0": 1, "tau_1": 2}, "epochs": 5}},
        ),
        (
            "{run: {method: {tau_0: null}, epochs: null}, space: {a.b: null, c: 3}}",
            {"run": {"method": {"name": "ft"}}, "space": {"c": 3}},
        ),
        (
            "{run: {method: {name: ewc, strength: 3}}}",
            {"run": {"method": {"name": "ewc", "strength": 3}, "epochs": 5}, "space": {"a.b": 1}},
        ),
        (
            "{sweep: {trials: 3}, space: [1]}",
            {
                "run": {"method": {"name": "ft", "tau_0": 1}, "epochs": 5},
                "space": [1],
                "sweep": {"trials": 3},
            },
        ),
    ],
    ids=[
        "nothing changed",
        "a value changed",
        "a block with the same name merged, a block removed",
        "null removes",
        "a block with another name replaces",
        "blocks added",
    ],
)
def test_a_file_is_laid_over_the_one_that_it_is_from(
    tmp_path: Path, above: str, expected: dict[str, Any]
) -> None:
    base = "run: {method: {name: ft, tau_0: 1}, epochs: 5}\nspace: {a.b: 1}\n"
    path = written(tmp_path, top=dump_yaml({"from": "base.yaml", **parse_yaml(above)}), base=base)
    found = read_composed(path)
    assert found == expected
    assert list(found) == [key for key in ("run", "space", "sweep") if key in expected]


def test_a_base_may_have_a_base_of_its_own_by_a_path_from_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "bases" / "deep").mkdir(parents=True)
    written(tmp_path / "bases" / "deep", c="{run: {a: 1, b: 1, c: 1}}")
    written(tmp_path / "bases", b="{from: deep/c.yaml, run: {b: 2, c: 2}}")
    path = written(tmp_path, a="{from: bases/b.yaml, run: {c: 3}}")
    assert read_composed(path) == {"run": {"a": 1, "b": 2, "c": 3}}


def test_two_files_from_the_same_one_do_not_change_each_other(tmp_path: Path) -> None:
    one = written(tmp_path, one="{from: base.yaml}", base="{run: {a: {b: 1}}}")
    two = written(tmp_path, two="{from: base.yaml}")
    set_value(read_composed(one), ["run", "a", "b"], "2", "here")
    assert read_composed(two) == {"run": {"a": {"b": 1}}}


def test_a_file_without_a_base_is_read_as_it_is(tmp_path: Path) -> None:
    assert read_composed(written(tmp_path, a="{run: {a: null}}")) == {"run": {"a": None}}


def test_the_bases_of_a_row_of_a_table_are_left_to_the_table(tmp_path: Path) -> None:
    row = {"from": {"mlp": "a.yaml", "alexnet": "b.yaml"}, "run": {"epochs": 3}}
    assert read_composed(written(tmp_path, row=dump_yaml(row))) == row


@pytest.mark.parametrize(
    "files",
    [
        {"a": "from: a.yaml"},
        {"a": "from: b.yaml", "b": "from: a.yaml"},
        {"a": "from: b.yaml", "b": "from: c.yaml", "c": "from: b.yaml"},
        {"a": "from: ./b.yaml", "b": "from: ../b/a.yaml"},
    ],
    ids=["itself", "two", "behind another", "by another path"],
)
def test_files_that_come_from_each_other_are_refused(
    tmp_path: Path, files: dict[str, str]
) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    path = written(folder, **files)
    last = folder / f"{list(files)[-1]}.yaml"
    with pytest.raises(ConfigError, match="`from` must lead to a file without it") as error:
        read_composed(path)
    assert str(error.value).startswith(f"{last}: ")


@pytest.mark.parametrize(
    ("base", "why"),
    [
        (None, "a readable file must be there, but: No such file"),
        ("", "must hold blocks to go on from, but got None"),
        ("- 1", r"must hold blocks to go on from, but got \[1\]"),
        ("{a: 1, a: 2}", "a stands twice in a block"),
    ],
    ids=["missing", "empty", "a list", "with a fault"],
)
def test_a_base_that_cannot_be_gone_on_from_is_named(
    tmp_path: Path, base: str | None, why: str
) -> None:
    path = written(tmp_path, top="from: base.yaml", **({} if base is None else {"base": base}))
    with pytest.raises(ConfigError, match=why) as error:
        read_composed(path)
    assert str(error.value).startswith(f"{tmp_path / 'base.yaml'}: ")


# Values below keys


@pytest.mark.parametrize(
    ("keys", "value", "expected"),
    [
        (["a"], "1e-5", {"a": 1e-5, "b": {"c": 1}, "n": None}),
        (["b", "c"], "[1, x]", {"b": {"c": [1, "x"]}, "n": None}),
        (["b", "d", "e"], "{f: 2}", {"b": {"c": 1, "d": {"e": {"f": 2}}}, "n": None}),
        (["n", "m"], "null", {"b": {"c": 1}, "n": {"m": None}}),
    ],
)
def test_a_value_is_put_below_keys_and_blocks_are_made_for_it(
    keys: list[str], value: str, expected: dict[str, Any]
) -> None:
    block: dict[str, Any] = {"b": {"c": 1}, "n": None}
    set_value(block, keys, value, "here")
    assert block == expected


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["b", "c", "d"], "1", "b.c.d=1: 'c' must be a block, but is 1."),
        (["b"], "[1", "b=[1: the value must be valid YAML, but got '[1' ("),
        (["b"], "{x: 1, x: 2}", "b={x: 1, x: 2}: the value must be valid YAML, but got"),
    ],
)
def test_a_value_that_has_no_place_or_no_meaning_is_refused(
    keys: list[str], value: str, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        set_value({"b": {"c": 1}}, keys, value, f"{'.'.join(keys)}={value}")
    assert str(error.value).startswith(message)
