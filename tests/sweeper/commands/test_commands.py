"""The console script: every command has a help with examples, and says what is wrong."""

from pathlib import Path

import pytest

from sweeper.commands import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_with_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "examples:" in printed
    assert f"sweeper {command} " in printed


def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["lanch"]])
def test_a_command_that_is_none_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "report", "stop", "pause", "resume"])
def test_a_folder_that_is_no_sweep_is_named(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path)]) == 2
    assert "must be the folder of a sweep" in capsys.readouterr().err
