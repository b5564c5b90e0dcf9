"""The contract of every layer rule: torch.nn at zero variance, Monte Carlo elsewhere."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from mpnet.errors import InputError
from mpnet.layers import moment
from mpnet.layers.moment import Moments
from mpnet.layers.moment.pool import pool_first
from tests.mpnet.layers.moment._oracles import (
    VANISHING_RHO,
    CountedCalls,
    PlainResidual,
    deterministic_state,
    randomise,
    sampled_moments,
)

# Which inputs a rule is good for:
#   exact     any independent Gaussians
#   taylor    variances so small that a straight line is near enough, means away from kinks
#   maximum   means many standard deviations apart
#   rectified any, but samples see little of what lies far below zero
#   batch     any, given the statistics of the batch's means
#   mask      any, given the mask
Kind = Literal["exact", "taylor", "maximum", "rectified", "batch", "mask"]
N_SAMPLES = 20_000


class Rule(NamedTuple):
    """A layer, its torch.nn twin, and what they are tried on."""

    name: str
    layer: Callable[[], nn.Module]
    twin: Callable[[], nn.Module]
    input_shape: tuple[int, ...]
    kind: Kind = "exact"
    training: bool = True


def same(name: str, *args: object, **options: object) -> tuple[Callable, Callable]:
    """Makers of the moment layer and of its namesake in torch.nn, with the same arguments."""
    return tuple(partial(getattr(home, name), *args, **options) for home in (moment, nn))


IMAGES = (2, 4, 5, 6)

RULES = [
    Rule("linear", *same("Linear", 5, 4), (3, 5)),
    Rule("linear without bias", *same("Linear", 5, 4, bias=False), (3, 5)),
    Rule("linear on sequences", *same("Linear", 5, 4), (2, 3, 5)),
    Rule("conv", *same("Conv2d", 4, 3, 3), IMAGES),
    Rule("conv with stride", *same("Conv2d", 4, 3, 3, stride=(2, 1)), IMAGES),
    Rule("conv with padding", *same("Conv2d", 4, 3, (3, 2), padding=(1, 0)), IMAGES),
    Rule("conv with padding same", *same("Conv2d", 4, 2, 3, padding="same"), IMAGES),
    Rule("conv with padding valid", *same("Conv2d", 4, 3, 3, padding="valid"), IMAGES),
    Rule("conv with dilation", *same("Conv2d", 4, 3, 3, dilation=2), IMAGES),
    Rule("conv in groups", *same("Conv2d", 4, 6, 3, groups=2), IMAGES),
    Rule("conv per channel", *same("Conv2d", 4, 4, 3, padding=1, stride=2, groups=4), IMAGES),
    Rule("conv without bias", *same("Conv2d", 4, 3, 3, bias=False), IMAGES),
    Rule("batch norm 1d in training", *same("BatchNorm1d", 4), (6, 4), "batch"),
    Rule("batch norm 1d of sequences", *same("BatchNorm1d", 4), (3, 4, 5), "batch"),
    Rule("batch norm 1d at evaluation", *same("BatchNorm1d", 4), (6, 4), training=False),
    Rule("batch norm 2d in training", *same("BatchNorm2d", 4), IMAGES, "batch"),
    Rule("batch norm 2d at evaluation", *same("BatchNorm2d", 4), IMAGES, training=False),
    Rule("batch norm without affine", *same("BatchNorm2d", 4, affine=False), IMAGES, "batch"),
    Rule(
        "batch norm without running statistics at evaluation",
        *same("BatchNorm2d", 4, track_running_stats=False),
        IMAGES,
        "batch",
        training=False,
    ),
    Rule("batch norm with mean history", *same("BatchNorm2d", 4, momentum=None), IMAGES, "batch"),
    Rule("relu", *same("ReLU"), (3, 8), "taylor"),
    Rule("leaky relu", *same("LeakyReLU", 0.2), (3, 8), "taylor"),
    Rule("tanh", *same("Tanh"), (3, 8), "taylor"),
    Rule("sigmoid", *same("Sigmoid"), (3, 8), "taylor"),
    Rule("gelu", *same("GELU"), (3, 8), "taylor"),
    Rule("silu", *same("SiLU"), (3, 8), "taylor"),
    Rule("gaussian relu", moment.GaussianReLU, nn.ReLU, (3, 8), "rectified"),
    Rule("softmax", moment.Softmax, partial(nn.Softmax, -1), (3, 5), "taylor"),
    Rule("max-pool", *same("MaxPool2d", 2), IMAGES, "maximum"),
    Rule("max-pool with overlap", *same("MaxPool2d", 3, 1), IMAGES, "maximum"),
    Rule("max-pool with padding", *same("MaxPool2d", 3, 2, padding=1), IMAGES, "maximum"),
    Rule("max-pool with ceil mode", *same("MaxPool2d", 2, ceil_mode=True), IMAGES, "maximum"),
    Rule("max-pool with dilation", *same("MaxPool2d", 2, 1, dilation=(2, 3)), IMAGES, "maximum"),
    Rule("avg-pool", *same("AvgPool2d", 2), IMAGES),
    Rule("avg-pool with overlap", *same("AvgPool2d", 3, 1), IMAGES),
    Rule("avg-pool with padding", *same("AvgPool2d", 3, 2, padding=1), IMAGES),
    Rule(
        "avg-pool without counting padding",
        *same("AvgPool2d", 3, 2, padding=1, count_include_pad=False),
        IMAGES,
    ),
    Rule("avg-pool with ceil mode", *same("AvgPool2d", 2, ceil_mode=True), IMAGES),
    Rule(
        "avg-pool with ceil mode and padding",
        *same("AvgPool2d", (2, 3), 2, padding=1, ceil_mode=True),
        IMAGES,
    ),
    Rule("avg-pool with divisor", *same("AvgPool2d", 2, divisor_override=3), IMAGES),
    Rule("adaptive avg-pool", *same("AdaptiveAvgPool2d", (3, 2)), (2, 4, 7, 5)),
    Rule("adaptive avg-pool to one", *same("AdaptiveAvgPool2d", 1), (2, 4, 7, 5)),
    Rule("adaptive avg-pool of one side", *same("AdaptiveAvgPool2d", (None, 3)), (2, 4, 3, 7)),
    Rule("dropout in training", *same("Dropout", 0.4), (3, 8), "mask"),
    Rule("dropout at evaluation", *same("Dropout", 0.4), (3, 8), training=False),
    Rule("flatten", *same("Flatten"), (2, 3, 4, 5)),
    Rule("flatten of the last dimensions", *same("Flatten", -2), (2, 3, 4)),
    Rule(
        "residual",
        lambda: moment.Residual(moment.Linear(5, 5)),
        lambda: PlainResidual(nn.Linear(5, 5)),
        (3, 5),
    ),
    Rule(
        "residual with shortcut",
        lambda: moment.Residual(moment.Linear(5, 4), moment.Linear(5, 4)),
        lambda: PlainResidual(nn.Linear(5, 4), nn.Linear(5, 4)),
        (3, 5),
    ),
]

all_rules = pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)


def rules(*names: str, kinds: tuple[Kind, ...] = ()) -> pytest.MarkDecorator:
    """The rules whose name starts with one of `names` or that are of one of `kinds`."""
    chosen = [r for r in RULES if r.name.startswith(names) or r.kind in kinds]
    return pytest.mark.parametrize("rule", chosen, ids=lambda r: r.name)


rules_on_images = pytest.mark.parametrize(
    "rule", [r for r in RULES if len(r.input_shape) == 4], ids=lambda r: r.name
)


def build(rule: Rule, rho: float = -2.0, dtype: torch.dtype = torch.float64) -> nn.Module:
    """The rule's layer with random parameters, in the rule's mode."""
    layer = randomise(rule.layer().to(dtype), rho).train(rule.training)
    if rule.name.startswith("residual"):
        uncorrelate(layer)
    return layer


@torch.no_grad()
def uncorrelate(residual: nn.Module) -> None:
    """Let the two paths depend on different inputs, as the rule assumes them independent."""
    if isinstance(residual.shortcut, nn.Identity):
        residual.body.weight.mean.fill_diagonal_(0.0)
    else:
        residual.body.weight.mean[:, ::2] = 0.0
        residual.shortcut.weight.mean[:, 1::2] = 0.0


def twin_of(rule: Rule, layer: nn.Module) -> nn.Module:
    """The rule's torch.nn twin with the means of the layer's weights, in the rule's mode."""
    twin = rule.twin().to(torch.float64)
    twin.load_state_dict(deterministic_state(layer))
    return twin.train(rule.training)


def inputs(rule: Rule, dtype: torch.dtype = torch.float64) -> Moments:
    """Random moments for which the rule is good."""
    n = torch.Size(rule.input_shape).numel()
    mean, var = torch.randn(n, dtype=dtype), torch.rand(n, dtype=dtype) + 0.1
    if rule.kind == "taylor":
        mean, var = (0.25 + 1.5 * torch.rand(n, dtype=dtype)) * mean.sign(), 1e-5 * var
    if rule.kind == "maximum":
        mean, var = torch.randperm(n).to(dtype) - n / 2, 1e-2 * var
    if rule.kind == "rectified":
        mean = mean.maximum(-var.sqrt())
    return Moments(mean.view(rule.input_shape), var.view(rule.input_shape))


def one_example(x: Moments) -> Moments:
    """The first of a batch, for tests whose time grows with its size."""
    return Moments(*(z[:1] for z in x))


def forward(layer: nn.Module, x: Tensor | Moments) -> Moments | Tensor:
    """The output, with the same random numbers at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return layer(x)


def trained(layer: nn.Module, x: Moments) -> tuple[Moments, list[Tensor]]:
    """The output, and the gradients of an uneven sum of it for inputs and parameters."""
    leaves = [x.mean.detach().requires_grad_(), x.dense_var.detach().requires_grad_()]
    out = forward(layer, Moments(*leaves))
    weights = torch.linspace(0.5, 1.5, out.mean.numel(), dtype=x.mean.dtype).view_as(out.mean)
    loss = (out.mean * weights).sum() + (out.var * weights.flip(0)).sum()
    wanted = leaves + list(layer.parameters())
    return out, list(torch.autograd.grad(loss, wanted, materialize_grads=True))


# Zero variance


@all_rules
def test_mean_of_a_deterministic_input_is_that_of_torch(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule).mean
    expected = forward(twin_of(rule, layer), x)
    torch.testing.assert_close(forward(layer, x).mean, expected, rtol=1e-12, atol=1e-12)


@all_rules
def test_mean_at_zero_variance_is_that_of_torch(rule: Rule) -> None:
    layer, x = build(rule, VANISHING_RHO), inputs(rule).mean
    expected = forward(twin_of(rule, layer), x)
    actual = forward(layer, Moments(x, torch.zeros_like(x)))
    torch.testing.assert_close(actual.mean, expected, rtol=1e-12, atol=1e-12)


@all_rules
def test_zero_variance_gives_zero_variance(rule: Rule) -> None:
    layer, x = build(rule, VANISHING_RHO), inputs(rule).mean
    assert forward(layer, Moments(x, torch.zeros_like(x))).dense_var.abs().max() < 1e-80


@all_rules
def test_a_tensor_is_an_input_with_variance_zero(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule).mean
    plain = forward(layer, x)
    expected = forward(layer, Moments(x, torch.zeros_like(x)))
    actual = Moments(plain.mean, plain.dense_var)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


@rules("batch norm")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_running_statistics_after_two_steps_are_those_of_torch(
    rule: Rule, dtype: torch.dtype
) -> None:
    layer, x = build(rule, dtype=dtype), inputs(rule, dtype)
    twin = twin_of(rule, layer).to(dtype)
    for step in (1.0, 2.0):
        layer(Moments(step * x.mean, x.var))
        twin(step * x.mean)
    torch.testing.assert_close(dict(layer.named_buffers()), dict(twin.named_buffers()))


@pytest.mark.parametrize("has_var", [False, True])
def test_an_empty_batch_does_not_spoil_running_statistics(has_var: bool) -> None:
    layer, empty = moment.BatchNorm1d(4), torch.ones(0, 4)
    with contextlib.suppress(InputError):  # torch takes it; to refuse it is as good
        layer(Moments(empty, empty) if has_var else empty)
    torch.testing.assert_close(layer.running_mean, torch.zeros(4))
    torch.testing.assert_close(layer.running_var, torch.ones(4))


# Monte Carlo


@rules(kinds=("exact", "taylor", "maximum", "rectified"))
def test_moments_match_monte_carlo(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule)
    assert_close_to_samples(layer(x), sampled_moments(layer, twin_of(rule, layer), x, N_SAMPLES))


@rules(kinds=("batch",))
def test_moments_match_monte_carlo_given_the_statistics_of_the_means(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule)
    twin = nn.BatchNorm2d(4) if len(rule.input_shape) == 4 else nn.BatchNorm1d(4)
    dims = [d for d in range(x.mean.ndim) if d != 1]
    twin.running_var, twin.running_mean = torch.var_mean(x.mean, dims, correction=0)
    twin.load_state_dict(dict(layer.named_parameters()), strict=False)
    samples = sampled_moments(layer, twin.eval(), x, N_SAMPLES)
    assert_close_to_samples(layer(x), samples)


def assert_close_to_samples(actual: Moments, samples: Moments) -> None:
    """Means within 5 % of a standard deviation, variances within 5 %."""
    offset = (actual.mean - samples.mean).abs() / samples.var.sqrt().clamp_min(1e-12)
    assert offset.max() < 0.05
    torch.testing.assert_close(actual.var, samples.var, rtol=0.05, atol=1e-12)


def test_dropout_scales_the_variance_by_the_square_of_what_scales_the_mean() -> None:
    layer, x = moment.Dropout(0.4), Moments(torch.rand(50, 40) + 1, torch.rand(50, 40) + 1)
    out = layer(x)
    scale = out.mean / x.mean
    torch.testing.assert_close(out.var, x.var * scale.square())


def test_dropout_drops_its_share_and_keeps_the_expected_mean() -> None:
    out = moment.Dropout(0.4)(torch.ones(200, 200)).mean
    torch.testing.assert_close(out.unique(), torch.tensor([0.0, 1 / 0.6]))
    assert out.mean().item() == pytest.approx(1.0, rel=0.02)


# Gradients


@all_rules
@pytest.mark.parametrize("rho", [-30.0, -2.0])
@pytest.mark.parametrize("var", [0.0, 2e-38, 1e-30, 1e-8, 1.0, 1e6])
def test_variance_and_gradients_are_sound_in_single_precision(
    rule: Rule, rho: float, var: float
) -> None:
    layer, x = build(rule, rho, torch.float32), inputs(rule, torch.float32)
    out, gradients = trained(layer, Moments(10 * x.mean, torch.full_like(x.mean, var)))
    assert (out.var >= 0).all()
    assert all(g.isfinite().all() for g in (*out, *gradients))


@all_rules
def test_gradients_equal_finite_differences(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule)
    if rule.kind != "batch":
        x = one_example(x)
    names = [name for name, _ in layer.named_parameters()]

    def output(mean: Tensor, var: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        if rule.kind == "mask":
            torch.manual_seed(1)
        state = dict(zip(names, parameters, strict=True))
        return functional_call(layer, state, (Moments(mean, var),))

    # Variances well above the step of the differences, also for the rules that like small ones.
    leaves = [x.mean, x.var.clamp_min(1e-2), *layer.parameters()]
    leaves = [z.detach().clone().requires_grad_() for z in leaves]
    assert torch.autograd.gradcheck(output, leaves, fast_mode=True)


@all_rules
def test_gradients_of_a_deterministic_input_equal_those_at_variance_zero(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule).mean
    wanted = [x.requires_grad_(), *layer.parameters()]

    def gradients(x: Tensor | Moments) -> tuple[Tensor, ...]:
        out = forward(layer, x)
        loss = out.mean.square().sum() + out.dense_var.sin().sum()
        return torch.autograd.grad(loss, wanted, materialize_grads=True)

    expected = gradients(Moments(x, torch.zeros_like(x)))
    torch.testing.assert_close(gradients(x), expected, rtol=1e-10, atol=1e-10)


# Memory formats


@rules_on_images
@pytest.mark.parametrize("of_mean", [torch.channels_last, torch.contiguous_format], ids=str)
@pytest.mark.parametrize("of_var", [torch.channels_last, torch.contiguous_format], ids=str)
def test_moments_and_gradients_do_not_depend_on_the_memory_format(
    rule: Rule, of_mean: torch.memory_format, of_var: torch.memory_format
) -> None:
    layer, x = build(rule), inputs(rule)
    expected = trained(layer, x)
    mean, var = x.mean.contiguous(memory_format=of_mean), x.var.contiguous(memory_format=of_var)
    torch.testing.assert_close(trained(layer, Moments(mean, var)), expected)


@rules("conv", "max-pool", "avg-pool", "batch norm 2d")
@pytest.mark.parametrize("of", [torch.channels_last, torch.contiguous_format], ids=str)
def test_the_memory_format_of_images_is_kept(rule: Rule, of: torch.memory_format) -> None:
    layer, x = build(rule), inputs(rule)
    out = layer(Moments(*(z.contiguous(memory_format=of) for z in x)))
    assert all(z.is_contiguous(memory_format=of) for z in out)


@rules("conv", "max-pool", "avg-pool", "batch norm 2d")
def test_channels_stay_last_for_a_deterministic_input(rule: Rule) -> None:
    layer, x = build(rule), inputs(rule)
    out = layer(x.mean.contiguous(memory_format=torch.channels_last))
    given = [z for z in out if z is not None]
    assert all(z.is_contiguous(memory_format=torch.channels_last) for z in given)


@pytest.mark.parametrize("name", ["MaxPool2d", "AvgPool2d"])
@pytest.mark.parametrize("shape", [(2, 1, 6, 6), (2, 4, 2, 2)])
def test_pooling_takes_images_whose_memory_format_is_ambiguous(
    name: str, shape: tuple[int, ...]
) -> None:
    x = torch.randn(shape)
    expected = getattr(nn, name)(2)(x)
    actual = getattr(moment, name)(2)(Moments(x, torch.rand(shape)))
    torch.testing.assert_close(actual.mean, expected)


# Cost


def test_linear_on_a_tensor_takes_two_matrix_products() -> None:
    with CountedCalls() as calls:
        moment.Linear(5, 4)(torch.randn(3, 5))
    assert calls.matrix_products == 2


def test_linear_on_moments_takes_three_matrix_products() -> None:
    with CountedCalls() as calls:
        moment.Linear(5, 4)(Moments(torch.randn(3, 5), torch.rand(3, 5)))
    assert calls.matrix_products == 3


def test_training_linear_on_moments_takes_six_more_matrix_products() -> None:
    layer = moment.Linear(5, 4)
    x = Moments(torch.randn(3, 5, requires_grad=True), torch.rand(3, 5))
    out = layer(x)
    with CountedCalls() as calls:
        torch.autograd.backward([out.mean.sum(), out.var.sum()])
    assert calls.matrix_products == 6


def test_conv_on_a_tensor_takes_two_convolutions_of_its_channels() -> None:
    with CountedCalls() as calls:
        moment.Conv2d(4, 3, 3)(torch.randn(IMAGES))
    assert calls.first_shapes["convolution"] == [IMAGES, IMAGES]


def test_conv_on_moments_takes_one_convolution_more_in_channels_but_not_in_calls() -> None:
    with CountedCalls() as calls:
        moment.Conv2d(4, 3, 3)(Moments(torch.randn(IMAGES), torch.rand(IMAGES)))
    assert sorted(s[1] for s in calls.first_shapes["convolution"]) == [4, 8]


# Composition


def in_order(*layers: nn.Module) -> nn.Module:
    """Layers one after the other, as given."""
    return nn.Sequential(*layers)


def with_pool_first(*layers: nn.Module) -> nn.Module:
    """The same layers, rearranged."""
    return nn.Sequential(*pool_first(layers))


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_pooling_first_gives_the_same_moments_and_gradients(is_deterministic: bool) -> None:
    conv = randomise(moment.Conv2d(4, 8, 3), -2.0)
    layers = (conv, moment.ReLU(), moment.MaxPool2d(2))
    x = Moments(torch.randn(5, 4, 10, 10), torch.rand(5, 4, 10, 10))
    if is_deterministic:
        x = Moments(x.mean, torch.zeros_like(x.mean))
    expected, actual = trained(in_order(*layers), x), trained(with_pool_first(*layers), x)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_pooling_moves_before_every_monotone_activation_that_it_follows() -> None:
    relu, pool, tanh, linear = (
        moment.ReLU(),
        moment.MaxPool2d(2),
        moment.Tanh(),
        moment.Linear(2, 2),
    )
    ordered = pool_first([relu, pool, tanh, pool, relu, linear, relu])
    assert ordered == [pool, relu, tanh, pool, relu, linear, relu]


def test_pooling_does_not_move_before_a_rule_that_mixes_mean_and_variance() -> None:
    layers = [moment.GaussianReLU(), moment.MaxPool2d(2)]
    assert pool_first(layers) == layers


def test_sequential_composes_layers_from_a_tensor_to_probabilities() -> None:
    network = nn.Sequential(
        moment.Conv2d(1, 4, 3),
        moment.BatchNorm2d(4),
        moment.ReLU(),
        moment.MaxPool2d(2),
        moment.Flatten(),
        moment.Dropout(0.5),
        moment.Linear(36, 3),
        moment.Softmax(),
    )
    out = network(torch.randn(5, 1, 8, 8))
    torch.testing.assert_close(out.mean.sum(1), torch.ones(5))
    assert out.var.shape == (5, 3)


def test_sequential_is_the_composition_of_its_layers() -> None:
    first, second = moment.Linear(5, 4), moment.Linear(4, 2)
    x = torch.randn(3, 5)
    torch.testing.assert_close(nn.Sequential(first, second)(x), second(first(x)))
