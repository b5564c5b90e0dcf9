"""Every search space of the project: loaded and bound in all its corners, without data."""

from pathlib import Path

import pytest

from mpnet.config import RunConfig, parse_run
from sweeper.space import with_values
from sweeper.sweep import load_sweep

ROOT = Path(__file__).parents[2]
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "search_spaces").rglob("*.y*ml"))

every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def corners(file: Path) -> list[RunConfig]:
    sweep = load_sweep(ROOT / file)
    return [parse_run(with_values(sweep.run, values)) for values in sweep.space.corners()]


def test_there_are_search_spaces() -> None:
    assert Path("search_spaces/quickstart.yaml") in FILES
    assert Path("search_spaces/ppbi_cifar.yaml") in FILES


@every_file
def test_every_corner_of_the_space_is_a_run(file: Path) -> None:
    assert len(corners(file)) > 0


@every_file
def test_no_path_is_searched_over_in_vain(file: Path) -> None:
    space = load_sweep(ROOT / file).space
    different = {configuration.identity() for configuration in corners(file)}
    assert len(different) == len({tuple(point.items()) for point in space.corners()})


@every_file
def test_the_first_line_is_the_command_that_runs_it(file: Path) -> None:
    first = (ROOT / file).read_text().splitlines()[0]
    assert first == f"# ./run python -m sweeper.launch {file.as_posix()}"
