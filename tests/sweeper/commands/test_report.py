"""`sweeper report`: what it writes, and what it says of a folder that is none."""

from pathlib import Path

import pytest

from sweeper.commands.report import main
from tests.sweeper.ledgers import finish_all, opened, swept


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_the_files_are_written_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_all(opened(tmp_path, swept(trials=2)))
    assert main([str(tmp_path)]) == 0
    written = [tmp_path / name for name in ("report.html", "report.md", "trials.csv", "s.yaml")]
    assert capsys.readouterr().out.split("\n")[:-1] == [str(path) for path in written]
    assert "2 finished" in written[1].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_a_folder_without_a_sweep_is_refused_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / name
    assert main([str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"{folder}: must be the folder of a sweep, but none has begun there.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_a_sweep_is_said_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "[red]no[/red] :smile:"
    assert main([str(folder)]) == 2
    assert capsys.readouterr().err.startswith(f"{folder}: must be the folder of a sweep")


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "sweeper report sweeps/" in capsys.readouterr().out


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_published_numbers_are_verified_and_a_changed_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_all(opened(tmp_path / "s", swept(trials=2)))
    page = tmp_path / "README.md"
    page.write_text("<!-- results: s tests -->\n99.9 %\n<!-- end -->\n", encoding="utf-8")
    assert main(["--verify", str(tmp_path)]) == 1
    assert "-99.9 %\n+No configuration has been rerun" in capsys.readouterr().out
    assert main(["--publish", str(tmp_path)]) == 0
    assert main(["--verify", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"{page}: as the ledgers say\n")
