"""Every search space of the project: loaded and bound in all its corners, without data."""

from pathlib import Path

import pytest

from mpnet.config import RunConfig, parse_run
from sweeper.config.folder import Choice, read_folder
from sweeper.config.space import with_values
from sweeper.config.sweep import load_sweep
from sweeper.report.table1.heading import inequalities
from sweeper.report.table1.paper import matching_cells, table1
from sweeper.report.table1.protocol import departures
from tests.sweeper.report.table1.folder import folder_table

ROOT = Path(__file__).parents[3]
TABLE, FIDELITY = Path("search_spaces/table1"), Path("search_spaces/fidelity")
FOUND = sorted(path.relative_to(ROOT) for path in (ROOT / "search_spaces").rglob("*.y*ml"))
PIECES = [path for path in FOUND if {TABLE, FIDELITY} & {*path.parents}]
FILES = [path for path in FOUND if path not in PIECES]

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


# The paper's table


@pytest.mark.parametrize("budget", [None, "reduced", "short", "cut", "paper"])
def test_the_table_has_a_sweep_for_every_cell_of_the_paper(budget: str | None) -> None:
    sweeps = read_folder(ROOT / TABLE, Choice(budget=budget))
    cells = []
    for sweep in sweeps:
        configuration = parse_run(with_values(sweep.run, next(iter(sweep.space.corners()))))
        n_tasks = {"cifar10_100": 10, "sequence8": 8}.get(configuration.benchmark["name"])
        run = configuration.model_dump(mode="json")
        cells += matching_cells(run, n_tasks or sweep.run["benchmark"]["n_tasks"])
    assert len(sweeps) == 126
    assert sorted(cells, key=str) == sorted(table1(), key=str)


OURS = ("second moment", "likelihood", "jitter", "variance", "scale", "guard", "accumulate")
NETWORK = ("batch norm",)


def test_every_corner_of_the_table_departs_only_in_what_is_ours_or_the_networks() -> None:
    for sweep in read_folder(ROOT / TABLE, Choice()):
        for values in sweep.space.corners():
            configuration = parse_run(with_values(sweep.run, values))
            found = departures(configuration.model_dump(mode="json"))
            assert [text for text in found if not text.startswith(OURS + NETWORK)] == []
        assert (sweep.select.top, sweep.select.seeds) == (1, 5)


@pytest.mark.parametrize("budget", [None, "reduced", "short", "cut", "paper"])
def test_all_rows_of_a_column_have_the_same_network_schedule_and_stopping(
    budget: str | None,
) -> None:
    texts = inequalities(folder_table(budget))
    unfair = ("batch norm", "dropout", "hidden", "patience", "decay", "epochs", "batch size")
    assert not [text for text in texts if any(f": {name} " in text for name in unfair)]
    assert budget is None or not any("configurations" in text for text in texts)


@pytest.mark.parametrize("file", PIECES, ids=lambda file: file.stem)
def test_the_first_line_of_a_piece_is_the_command_that_runs_the_table(file: Path) -> None:
    first = (ROOT / file).read_text().splitlines()[0]
    budget = f" --budget {file.stem}" if file.parent.name == "budgets" else ""
    table = file.parents[1].as_posix()
    assert first.startswith(f"# ./run python -m sweeper.launch {table}{budget}")


# Whether a short budget chooses as a long one does


def test_two_budgets_have_the_same_twelve_configurations_of_two_columns() -> None:
    short, long = (read_folder(ROOT / FIDELITY, Choice(budget=name)) for name in ("short", "long"))
    assert [sweep.name for sweep in short] == ["ours.split_cifar10_5", "ours.split_mnist_5"]
    for few, many in zip(short, long, strict=True):
        assert few.faults == many.faults == () and few.n_reruns == many.n_reruns == 0
        assert [*few.space.points()] == [*many.space.points()] and few.n_trials == 12
        for values in few.space.points():
            runs = [parse_run(with_values(sweep.run, values)) for sweep in (few, many)]
            assert 5 <= runs[1].training.epochs / runs[0].training.epochs <= 10


@pytest.mark.parametrize("column", ["split_mnist_5", "split_cifar10_5"])
def test_the_short_budget_of_the_check_is_that_of_the_table(column: str) -> None:
    budget = "cut" if "cifar" in column else "short"
    [checked] = read_folder(ROOT / FIDELITY, Choice(budget="short", only=[f"*.{column}"]))
    [tabled] = read_folder(ROOT / TABLE, Choice(budget=budget, only=[f"ppbi_var.{column}"]))
    runs = [parse_run({**s.run, "method": {"name": "ppbi"}}) for s in (checked, tabled)]
    assert runs[0] == runs[1]
