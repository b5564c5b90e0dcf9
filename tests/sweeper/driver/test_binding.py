"""Sweeps bound to `mpnet`: what a run resolves to, and what is told before one starts."""

import inspect
from dataclasses import replace
from typing import Any

import pytest

from mpnet.config import RunConfig, parse_run
from mpnet.layers import FAMILIES
from mpnet.methods import METHODS
from mpnet.networks import NETWORKS
from mpnet.training import TrainingSettings
from sweeper.config.reseeding import benchmark_seeds
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver.binding import (
    check,
    data_faults,
    first_tasks,
    n_steps,
    rerun_run,
    search_seeds,
    trial_run,
)
from sweeper.errors import SweepError
from sweeper.results.records import Rerun
from tests.sweeper.records import finished

TAU = {"method.tau_max": {"log_uniform": [1e-6, 1e-2]}}
RUN: dict[str, Any] = {"method": {"name": "ppbi"}, "training": {"epochs": 3}}


def swept(run: dict[str, Any] = RUN, space: dict[str, Any] = TAU) -> Sweep:
    return parse_sweep({"run": run, "space": space}, "s")


def faults_of(sweep: Sweep) -> list[str]:
    with pytest.raises(SweepError) as error:
        check(sweep)
    return str(error.value).splitlines()


# The run of a trial


def resolved(on: str = "cpu", **run: Any) -> dict[str, Any]:
    return trial_run(swept({**RUN, **run}), {"method.tau_max": 1e-4}, on)


def options_of(member: Any) -> set[str]:
    """What a run may say of a method, a network or a family of layers."""
    parameters = inspect.signature(member).parameters.values()
    return {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}


def test_a_trial_is_resolved_with_every_field_of_a_run() -> None:
    run = resolved()
    assert set(run) == set(RunConfig.model_fields)
    assert set(run["training"]) == set(TrainingSettings.__dataclass_fields__)


@pytest.mark.parametrize(
    ("block", "member"),
    [
        ("method", METHODS["ppbi"]),
        ("network", NETWORKS["mlp"]),
        ("layers", FAMILIES[METHODS["ppbi"].family]),
    ],
)
def test_a_trial_is_resolved_with_every_option_of_what_it_names(block: str, member: Any) -> None:
    assert set(resolved()[block]) - {"name"} == options_of(member)


def test_sampled_values_and_those_of_the_file_are_in_their_places() -> None:
    run = resolved()
    assert (run["method"]["tau_max"], run["training"]["epochs"]) == (1e-4, 3)


def test_a_resolved_run_resolves_to_itself() -> None:
    run = resolved()
    assert parse_run(run).model_dump(mode="json") == run


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("said", [{}, {"device": "auto"}, {"device": "cuda:1"}])
def test_a_trial_runs_on_the_device_that_it_is_given(device: str, said: dict[str, str]) -> None:
    assert resolved(device, **said)["device"] == device


@pytest.mark.parametrize("said", [{}, {"split": "test"}])
def test_a_trial_is_judged_on_validation_data_whatever_a_run_says(said: dict[str, str]) -> None:
    sweep = replace(swept(), run={**RUN, **said})  # a file that says so is refused
    assert trial_run(sweep, {}, "cpu")["split"] == "validation"


# The run of a rerun


def test_a_rerun_is_the_recorded_run_on_the_test_sets_with_a_seed_of_its_own() -> None:
    recorded = {**resolved(), "training": {"epochs": 3, "an_option_of_old": 1}}
    chosen = finished(4, 0.9, 0.0, run=recorded)
    own = {"split": "test", "seed": 7, "device": "cuda"}
    assert rerun_run(swept(), chosen, Rerun(4, 7), "cuda") == {**recorded, **own}
    assert (recorded["split"], recorded["seed"], recorded["device"]) == ("validation", 0, "cpu")


def test_a_rerun_on_an_unseen_class_order_differs_in_nothing_else() -> None:
    recorded = resolved(benchmark={"name": "digits", "class_order": 5})
    chosen = finished(4, 0.9, 0.0, run=recorded)
    plain, unseen = (rerun_run(swept(), chosen, Rerun(4, 7, order), "cpu") for order in (None, 0))
    assert plain["benchmark"] == recorded["benchmark"]
    assert unseen == {**plain, "benchmark": {**recorded["benchmark"], "class_order": 0}}


def test_a_trial_from_before_there_were_class_orders_can_be_rerun_on_one() -> None:
    recorded = {**resolved(), "benchmark": {"name": "digits"}}
    again = rerun_run(swept(), finished(4, 0.9, 0.0, run=recorded), Rerun(4, 7, 0), "cpu")
    assert parse_run(again).benchmark["class_order"] == 0


def reseeding(*drawn: str, benchmark: str = "permuted_mnist", **select: Any) -> Sweep:
    run = {**RUN, "benchmark": {"name": benchmark}}
    return parse_sweep({"run": run, "select": {"reseed": list(drawn), **select}}, "s")


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_what_a_rerun_draws_anew_follows_its_seed_and_nothing_else_does(seed: int) -> None:
    sweep = reseeding("split", "permutation")
    recorded = trial_run(sweep, {}, "cpu")
    drawn = {"split_seed": seed, "permutation_seed": 1000 * seed}
    again = rerun_run(sweep, finished(4, 0.9, 0.0, run=recorded), Rerun(4, seed), "cpu")
    plain = {**recorded, "split": "test", "seed": seed}
    assert again == {**plain, "benchmark": {**recorded["benchmark"], **drawn}}
    assert parse_run(again).model_dump(mode="json") == again


def test_two_methods_draw_alike_with_the_same_seed_and_share_first_tasks() -> None:
    sweep, names = reseeding("split", "permutation"), ("ft", "lra")
    runs = [
        rerun_run(
            sweep,
            finished(0, 0.9, 0.0, run={**trial_run(sweep, {}, "cpu"), "method": {"name": name}}),
            Rerun(0, 3),
            "cpu",
        )
        for name in names
    ]
    assert runs[0]["benchmark"] == runs[1]["benchmark"]
    assert len({first_tasks(run, [3]) for run in runs}) == 1


def test_permutations_of_two_seeds_have_none_in_common() -> None:
    starts = [benchmark_seeds(["permutation"], seed)["permutation_seed"] for seed in (1, 2)]
    assert starts[1] - starts[0] >= 1000  # task t draws from the start plus t


def test_a_benchmark_that_does_not_draw_what_should_be_drawn_is_refused() -> None:
    assert faults_of(reseeding("split", "class_order")) == [
        "s: select.reseed: the benchmark must draw it, but 'permuted_mnist' draws no class_order; "
        "remove it."
    ]
    assert check(reseeding("split", "class_order", benchmark="split_mnist"))


@pytest.mark.parametrize(
    ("seed", "repeats", "seeds"), [(0, 1, (0,)), (0, 3, (0, 1, 2)), (5, 2, (5, 6))]
)
def test_the_seeds_of_a_trial_are_the_runs_own_and_those_that_follow(
    seed: int, repeats: int, seeds: tuple[int, ...]
) -> None:
    assert search_seeds(resolved(seed=seed), repeats) == seeds


# Whether a sweep fits


def test_every_kind_of_point_gives_a_run() -> None:
    space = {
        "method.name": {"choice": ["ft", "ppbi"]},
        "method.tau_max": {"grid": [1e-3, 1e-4], "when": {"method.name": "ppbi"}},
    }
    found = check(swept(RUN, space))
    assert {c.method["name"] for c in found} == {"ft", "ppbi"}
    assert {c.method["tau_max"] for c in found if c.method["name"] == "ppbi"} == {1e-3, 1e-4}


@pytest.mark.parametrize("name", ["epochs", "batch_size"])
def test_a_short_form_that_would_hide_what_is_searched_over_is_refused(name: str) -> None:
    sweep = swept({**RUN, name: 5}, {f"training.{name}": {"grid": [1, 2]}})
    assert faults_of(sweep) == [
        f"s: space.training.{name}: run.{name} must not stand beside it, since it would win; "
        "remove it."
    ]


def test_a_short_form_of_something_else_hides_nothing() -> None:
    found = check(swept({**RUN, "epochs": 5}, {"training.batch_size": {"grid": [10, 20]}}))
    assert {(c.training.epochs, c.training.batch_size) for c in found} == {(5, 10), (5, 20)}


def test_a_key_of_the_run_does_not_hide_one_of_the_same_name_in_another_block() -> None:
    """EWC has a decay of its own; that of the training is another."""
    run = {"method": {"name": "ewc"}, "decay": "cosine"}
    found = check(swept(run, {"method.decay": {"grid": [0.5, 0.75]}}))
    assert {c.method["decay"] for c in found} == {0.5, 0.75}


def test_a_fault_of_many_points_is_told_once_and_beside_all_others() -> None:
    space = {"method.tau_mx": {"grid": [1, 2, 3]}, "training.epoch": {"grid": [1, 2]}}
    first, second = faults_of(swept(RUN, space))
    assert "did you mean 'epochs'?" in first
    assert "did you mean 'tau_max'?" in second


ORDERS = "class_orders: the benchmark must have class orders, but"


@pytest.mark.parametrize(
    ("benchmark", "which"),
    [
        ({"name": "permuted_mnist"}, "'permuted_mnist' has none"),
        ({"name": "sequence8"}, "'sequence8' has none"),
        ({"name": "split_mnist", "n_tasks": 1}, "'split_mnist' in one task has none"),
    ],
)
def test_unseen_orders_of_a_benchmark_without_class_orders_are_refused_before_data_are_read(
    benchmark: dict[str, Any], which: str
) -> None:
    blocks = {"run": {**RUN, "benchmark": benchmark}, "space": TAU}
    sweep = parse_sweep({**blocks, "select": {"class_orders": 2}}, "s")
    (fault,) = faults_of(sweep)
    assert fault == (
        f"s: select.{ORDERS} {which}; use 0, or one of cifar10_100, digits, image_folder, "
        "split_cifar10, split_mnist in several tasks."
    )


def test_all_benchmarks_without_class_orders_are_told_beside_all_other_faults() -> None:
    space = {
        "benchmark.name": {"choice": ["permuted_mnist", "digits", "sequence8"]},
        "training.epochs": {"grid": [1, 2]},
    }
    run = {"benchmark": {"name": "digits"}, "method": {"name": "ft", "tau": 1}, "epochs": 3}
    blocks = {"run": run, "space": space, "select": {"class_orders": 1}}
    first, second, third, fourth = faults_of(parse_sweep(blocks, "s"))
    assert "run.epochs must not stand beside it" in first
    assert "method 'ft' has no parameter 'tau'" in second
    assert "'permuted_mnist' has none" in third and "'sequence8' has none" in fourth


def test_unseen_orders_of_a_benchmark_that_has_them_fit() -> None:
    blocks = {"run": {**RUN, "benchmark": {"name": "digits"}}, "space": TAU}
    assert check(parse_sweep({**blocks, "select": {"class_orders": 2}}, "s"))


# Data


def configuration(name: str, **changes: Any) -> RunConfig:
    return parse_run({"benchmark": {"name": name}, **changes})


def test_a_fault_of_the_data_is_told_once_for_each_benchmark() -> None:
    found = list(
        data_faults(
            [
                configuration("split_mnist"),
                configuration("digits"),
                configuration("split_cifar10"),
                configuration("split_mnist", seed=1, epochs=2),
            ]
        )
    )
    assert len(found) == 2
    assert "'mnist'" in found[0] and "'cifar10'" in found[1]


def test_data_that_are_not_there_are_no_fault_of_the_sweep_itself() -> None:
    (first, *_) = data_faults(check(swept({**RUN, "benchmark": {"name": "split_mnist"}})))
    assert "data set 'mnist'" in first


def test_steps_are_the_epochs_of_all_tasks() -> None:
    run = configuration("digits", epochs=3)
    assert n_steps(run) == 3 * len(run.build_stream()) == 15
