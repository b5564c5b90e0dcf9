"""Batch norms that later tasks cannot change, with every layer family."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mpnet.errors import ConfigError
from mpnet.layers import LayerFamily
from mpnet.layers.gated import GatedLayers
from mpnet.layers.moment import MomentLayers, from_torch
from mpnet.layers.plain import PlainLayers
from mpnet.layers.sampled import SampledLayers, UnitSampledLayers
from mpnet.networks import Network, build_network

SHAPE = (1, 4, 4)
N_CLASSES = [2, 5, 3]

all_families = pytest.mark.parametrize(
    "family", [MomentLayers, PlainLayers, GatedLayers, SampledLayers, UnitSampledLayers]
)
both_kinds = pytest.mark.parametrize("kind", ["frozen", "per_task"])
all_tasks = pytest.mark.parametrize("t", range(len(N_CLASSES)))


def build(family: Callable[[], LayerFamily], kind: object) -> Network:
    """Two hidden layers, three tasks."""
    return build_network("mlp", family(), SHAPE, N_CLASSES, hidden=[6, 5], batch_norm=kind)


def see(network: Network, t: int, n_batches: int = 3) -> None:
    """Pass batches of a task, each task's around another mean, in training mode."""
    network.train()
    for _ in range(n_batches):
        network(torch.randn(20, *SHAPE) + 3 * t, t)


def norm_state(network: Network) -> dict[str, Tensor]:
    """Statistics, scale and shift of all norms."""
    state = network.trunk.state_dict()
    return {key: value.clone() for key, value in state.items() if ".norms." in key}


def of_task(state: dict[str, Tensor], t: int) -> list[Tensor]:
    """The part of `norm_state` that is the norm at place `t`."""
    return [value for key, value in state.items() if f".norms.{t}." in key]


def are_equal(some: list[Tensor], others: list[Tensor]) -> bool:
    """Bit for bit."""
    assert some
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


@all_families
@both_kinds
def test_in_the_first_task_it_is_the_plain_batch_norm_bit_for_bit(family: type, kind: str) -> None:
    outputs = []
    for batch_norm in (True, kind):
        torch.manual_seed(1)
        network = build(family, batch_norm)
        network.begin_task(0)
        see(network, 0)
        in_training = network(torch.randn(7, *SHAPE), 0)
        outputs.append((in_training, network.eval()(torch.randn(7, *SHAPE), 0)))
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=0)


# Frozen


@all_families
@all_tasks
def test_a_frozen_norm_does_not_drift_after_the_first_task(family: type, t: int) -> None:
    network = build(family, "frozen")
    network.begin_task(0)
    see(network, 0)
    before = norm_state(network)
    network.begin_task(2)
    see(network, t)  # of an old task too, as in joint training
    assert are_equal([*before.values()], [*norm_state(network).values()])


@all_families
def test_a_frozen_norm_uses_running_statistics_when_later_tasks_train(family: type) -> None:
    network = build(family, "frozen")
    network.begin_task(0)
    see(network, 0)
    network.begin_task(1)
    network.train()
    seen: list[bool] = []
    for module in network.modules():
        if type(module).__name__.startswith("BatchNorm"):
            module.register_forward_hook(lambda layer, _, __: seen.append(layer.training))
    network(torch.randn(9, *SHAPE), 1)
    assert seen == [False, False]


@all_families
def test_a_frozen_norm_gets_no_gradient_after_the_first_task(family: type) -> None:
    network = build(family, "frozen").train()
    for t, is_reached in ((0, True), (1, False)):
        network.begin_task(t)
        network.zero_grad()
        network.layers.nll(
            network(torch.randn(4, *SHAPE), t), torch.tensor([0, 1, 1, 0])
        ).backward()
        own = [*network.task_parameters(0)][len([*network.head_parameters(0)]) :]
        assert len(own) == 4
        assert all((p.grad is not None) == is_reached for p in own)


# Per task


@all_families
@all_tasks
def test_a_batch_moves_the_statistics_of_its_own_task_only(family: type, t: int) -> None:
    network = build(family, "per_task")
    before = norm_state(network)
    see(network, t)
    after = norm_state(network)
    same = [are_equal(of_task(before, i), of_task(after, i)) for i in range(3)]
    assert same == [i != t for i in range(3)]


@all_families
@all_tasks
def test_the_loss_of_a_task_reaches_the_trunk_and_what_is_its_own_only(
    family: type, t: int
) -> None:
    network = build(family, "per_task").train()
    network.layers.nll(network(torch.randn(2, *SHAPE), t), torch.tensor([0, 1])).backward()
    reached = {id(p) for p in network.parameters() if p.grad is not None}
    assert reached == {id(p) for p in [*network.trunk_parameters(), *network.task_parameters(t)]}


@all_families
def test_later_tasks_start_where_a_task_has_ended_and_earlier_ones_stay(family: type) -> None:
    network = build(family, "per_task")
    see(network, 0)
    see(network, 1)
    before = norm_state(network)
    network.end_task(1)
    after = norm_state(network)
    assert are_equal(of_task(after, 0), of_task(before, 0))
    assert are_equal(of_task(after, 1), of_task(before, 1))
    assert are_equal(of_task(after, 2), of_task(before, 1))
    see(network, 2)  # equal, not the same
    assert are_equal(of_task(norm_state(network), 1), of_task(before, 1))


def test_an_old_task_is_evaluated_by_its_own_statistics() -> None:
    network = build(PlainLayers, "per_task")
    see(network, 0, n_batches=200)
    see(network, 1, n_batches=200)
    network.eval()
    hidden: list[Tensor] = []
    network.trunk[2].register_forward_hook(lambda _, __, out: hidden.append(out))
    for t in (0, 1):
        network(torch.randn(5000, *SHAPE) + 3 * t, t)
    for out in hidden:  # only its own statistics make a task's units N(0, 1)
        torch.testing.assert_close(out.mean(0), torch.zeros(6), rtol=0, atol=0.2)
        torch.testing.assert_close(out.std(0), torch.ones(6), rtol=0, atol=0.2)


@all_families
def test_a_single_example_is_normalised_by_running_statistics_which_stay(family: type) -> None:
    network = build(family, "per_task")
    see(network, 1)
    before = norm_state(network)
    network(torch.randn(1, *SHAPE), 1)
    assert are_equal([*before.values()], [*norm_state(network).values()])
    see(network, 1)  # the next batch counts again
    assert not are_equal(of_task(before, 1), of_task(norm_state(network), 1))


# Around them


@both_kinds
def test_the_moment_twin_has_the_norms_of_every_task(kind: str) -> None:
    network = build(PlainLayers, kind)
    see(network, 0)
    network.end_task(0)
    see(network, 1)
    network.eval()
    twin, x = from_torch(network), torch.randn(4, *SHAPE)
    for t in range(3):
        torch.testing.assert_close(twin(x, t).mean, network(x, t))


@all_families
@both_kinds
def test_what_tasks_have_of_their_own_is_outside_the_trunk(family: type, kind: str) -> None:
    network = build(family, kind)
    shapes = [p.shape for p in build(family, False).trunk_parameters()]
    assert [p.shape for p in network.trunk_parameters()] == shapes


@both_kinds
def test_norms_move_to_the_dtype_and_the_device_of_their_network(kind: str) -> None:
    network = build(PlainLayers, kind).to("meta", torch.double)
    tensors = [*network.parameters(), *network.buffers()]
    assert all(tensor.is_meta for tensor in tensors)
    assert {tensor.dtype for tensor in tensors} == {torch.double, torch.long}  # long: counts


@pytest.mark.parametrize("name", ["mlp", "alexnet"])
@all_families
def test_a_misspelt_kind_is_answered_with_the_nearest(name: str, family: type) -> None:
    wanted = r"network\.batch_norm: no 'frozn'; did you mean 'frozen'\?"
    with pytest.raises(ConfigError, match=wanted):
        build_network(name, family(), (1, 20, 20), [2], batch_norm="frozn")
