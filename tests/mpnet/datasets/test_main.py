"""The doctor as a person meets it."""

from pathlib import Path

import pytest

from mpnet.datasets import DATASETS, __main__, load
from mpnet.datasets.__main__ import main


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, eighty columns."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def rows(text: str) -> dict[str, str]:
    """By set, both lines of its row in the table."""
    lines = text.splitlines()
    starts = {line.split()[0]: i for i, line in enumerate(lines) if line.split()[:1]}
    return {name: "\n".join(lines[starts[name] :][:2]) for name in DATASETS if name in starts}


def test_an_empty_root_lacks_all_but_the_built_in_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(tmp_path)]) == 1
    table = rows(capsys.readouterr().out)
    assert set(table) == set(DATASETS)
    assert "built in" in table.pop("digits")
    assert all("missing" in row for row in table.values())


def test_for_a_missing_set_it_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--root", str(tmp_path)])
    out = capsys.readouterr().out
    for name in ("train_32x32.mat", "test_32x32.mat"):
        assert str(tmp_path / name) in out
    assert "http://ufldl.stanford.edu/housenumbers/" in out
    assert out.count(str(tmp_path / "cifar-100-python" / "meta")) == 1


def test_it_downloads_and_writes_nothing_when_it_only_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--root", str(tmp_path / "root")])
    assert not (tmp_path / "root").exists()


def test_it_counts_what_has_been_decoded(
    svhn_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--root", str(svhn_root)])
    assert "not read yet" in rows(capsys.readouterr().out)["svhn"]
    load("svhn", "train", svhn_root)
    load("svhn", "test", svhn_root)
    main(["--root", str(svhn_root)])
    row = rows(capsys.readouterr().out)["svhn"]
    assert all(fact in row for fact in ("present", "30", "3-3", "20", "2-2"))


def test_check_reads_everything_and_compares_checksums(
    svhn_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(svhn_root), "--check"]) == 1
    table = rows(capsys.readouterr().out)
    assert "md5 differs" in table["svhn"] and "3-3" in table["svhn"]
    assert "1,438" in table["digits"] and "md5 unknown" in table["digits"]


def test_check_finds_an_unreadable_file_and_goes_on(
    svhn_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (svhn_root / "train_32x32.mat").write_bytes(b"no MATLAB file")
    assert main(["--root", str(svhn_root), "--check"]) == 1
    out = capsys.readouterr().out
    assert "unreadable" in rows(out)["svhn"]
    assert "train_32x32.mat must be readable" in out
    assert "Traceback" not in out


def test_the_exit_code_is_0_when_all_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(__main__, "DATASETS", ["digits"])
    assert main(["--root", str(tmp_path)]) == 0


def test_a_decoded_copy_counts_as_present(
    svhn_root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(__main__, "DATASETS", ["svhn"])
    for part in ("train", "test"):
        load("svhn", part, svhn_root)
        (svhn_root / f"{part}_32x32.mat").unlink()
    assert main(["--root", str(svhn_root)]) == 0


@pytest.mark.parametrize("arguments", [["--rot", "/"], ["mnist"], ["--root", __file__]])
def test_wrong_arguments_end_with_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "python -m mpnet.datasets --check" in capsys.readouterr().out
