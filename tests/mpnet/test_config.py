"""Configurations: what is accepted, and what a person is told about the rest."""

from pathlib import Path

import pytest

from mpnet.config import load_run, parse_run
from mpnet.errors import ConfigError

ROOT = Path(__file__).parents[2]
# Pieces of tables (rows/, columns/, budgets/) are no runs by themselves.
FILES = [
    path
    for path in sorted(ROOT.glob("search_spaces/**/*.yaml"))
    if not (path.parents[1] / "rows").is_dir()
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_search_space_in_the_project_has_a_run_that_binds(file: Path) -> None:
    assert load_run(file).benchmark["name"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            {"method": {"name": "ft", "tau": 1e-6}},
            "run.method.tau: method 'ft' has no parameter 'tau'; did you mean 'tau_0'?",
        ),
        (
            {"method": {"name": "fft"}},
            "run.method.name: no method 'fft'; did you mean 'ft'?",
        ),
        (
            {"method": {"tau_0": 1}},
            "run.method: must have a name, one of ",
        ),
        (
            {"network": "mlp"},
            "run.network: ",
        ),
        (
            {"layers": {"likelihood": "gauss"}},
            "run.layers.likelihood: input should be 'expected_softmax', 'tight_softmax' or "
            "'gaussian', but got 'gauss'.",
        ),
        (
            {"network": {"name": "mlp", "batch_norm": "frozn"}},
            "run.network.batch_norm: input should be False, True, 'frozen' or 'per_task', "
            "but got 'frozn'.",
        ),
        (
            {"training": {"epoch": 3}},
            "run.training.epoch: training has no parameter 'epoch'; did you mean 'epochs'?",
        ),
        (
            {"training": {"epochs": 0}},
            "run.training.epochs: input should be greater than or equal to 1, but got 0.",
        ),
        ({"sed": 1}, "run.sed: a run has no parameter 'sed'; did you mean 'seed'?"),
        (
            {"split": "train"},
            "run.split: input should be 'validation' or 'test', but got 'train'.",
        ),
        ({"device": "gpu"}, "run.device: "),
    ],
)
def test_a_fault_is_named_with_its_place_and_a_way_out(
    raw: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        parse_run(raw)
    assert message in str(error.value)


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        parse_run({"seed": -1, "method": {"name": "no"}, "network": {"name": "mlp", "hiden": 3}})
    assert len(str(error.value).splitlines()) == 3


def test_numbers_that_yaml_reads_as_text_are_numbers() -> None:
    assert parse_run({"method": {"name": "ft", "tau_0": "1e-5"}}).method["tau_0"] == 1e-5


def test_overrides_are_dotted_and_reach_every_block(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("run: {method: {name: ft}}\n")
    changes = ["method.tau_0=1e-4", "training.epochs=3", "run.seed=7", "layers.rho=-14"]
    config = load_run(file, changes)
    assert (config.method["tau_0"], config.layers["rho"]) == (1e-4, -14)
    assert (config.training.epochs, config.seed) == (3, 7)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "a readable file must be there"),
        ("run: [", "valid YAML must be there"),
        ("space: {}", "a block `run:` must be there"),
        ("- 1", "a block `run:` must be there"),
    ],
)
def test_an_unusable_file_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "run.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match="run.yaml") as error:
        load_run(file)
    assert message in str(error.value)


@pytest.mark.parametrize("override", ["training.epochs", "seed.deep=1"])
def test_an_override_that_cannot_be_applied_is_named(tmp_path: Path, override: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("run: {seed: 1}\n")
    with pytest.raises(ConfigError, match=override.split("=")[0]):
        load_run(file, [override])


def test_settings_of_the_training_may_stand_in_the_run_itself() -> None:
    config = parse_run({"epochs": 3, "batch_size": 7, "training": {"learning_rate": 0.5}})
    assert (config.training.epochs, config.training.batch_size) == (3, 7)
    assert config.training.learning_rate == 0.5


def test_the_short_form_wins_so_that_an_override_has_its_way() -> None:
    assert parse_run({"epochs": 3, "training": {"epochs": 250}}).training.epochs == 3


def test_a_run_is_the_same_in_its_short_form() -> None:
    long, short = parse_run({"training": {"epochs": 3}}), parse_run({"epochs": 3})
    assert short.identity() == long.identity()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"epochs": 0}, "run.training.epochs: input should be greater than or equal to 1"),
        ({"epoch": 3}, "run.epoch: a run has no parameter 'epoch'"),
        ({"epochs": 3, "training": 5}, "run.training: "),
    ],
)
def test_a_fault_of_the_short_form_is_named_too(raw: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_run(raw)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["digits", "split_mnist", "split_cifar10", "cifar10_100"])
def test_a_class_order_is_part_of_a_runs_identity_and_its_absence_is_not(name: str) -> None:
    plain, first, second = (
        parse_run({"benchmark": {"name": name, **asked}})
        for asked in ({}, {"class_order": 0}, {"class_order": 1})
    )
    assert len({run.identity() for run in (plain, first, second)}) == 3
    assert "class_order" not in plain.identity()
    assert parse_run({"benchmark": {"name": name, "class_order": None}}).identity() == (
        plain.identity()
    )


@pytest.mark.parametrize("name", ["permuted_mnist", "sequence8"])
def test_a_benchmark_without_class_orders_refuses_one(name: str) -> None:
    with pytest.raises(ConfigError, match="has no parameter 'class_order'"):
        parse_run({"benchmark": {"name": name, "class_order": 1}})


@pytest.mark.parametrize("value", [-1, "shuffled", 1.5])
def test_a_class_order_is_a_seed(value: object) -> None:
    with pytest.raises(ConfigError, match="run.benchmark.class_order"):
        parse_run({"benchmark": {"name": "digits", "class_order": value}})


def test_a_precision_that_nobody_asked_for_leaves_no_trace_in_a_runs_identity() -> None:
    plain, less = parse_run({}), parse_run({"training": {"precision": "bfloat16"}})
    assert "precision" not in plain.identity()
    assert less.identity() != plain.identity()
    assert less.first_task_identity() != plain.first_task_identity()
