"""What a layer says about a tensor that it cannot take: which layer, what must hold, what came."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from mpnet.errors import ConfigError, InputError
from mpnet.layers import moment
from mpnet.layers.moment import MomentLayers, Moments, validation
from mpnet.networks import Network, build_network

NAN, INF = float("nan"), float("inf")


def network(likelihood: str = "expected_softmax") -> Network:
    """Two tasks of two classes on 4x4 images."""
    layers = MomentLayers(likelihood=likelihood)
    return build_network("mlp", layers, (1, 4, 4), [2, 2], hidden=[8])


def vectors(*values: float) -> Tensor:
    """A batch of one vector."""
    return torch.tensor([values])


# Shapes

WRONG_SHAPES = [
    (moment.Linear(5, 3), (2, 4), r"Linear\(in_features=5.*must have shape \(batch, ..., 5\)"),
    (moment.Linear(5, 3), (5,), r"Linear\(in_features=5.*must have shape \(batch, ..., 5\)"),
    (moment.Conv2d(3, 2, 3), (2, 1, 8, 8), r"Conv2d\(3, 2.*\(batch, 3, height, width\)"),
    (moment.Conv2d(3, 2, 3), (3, 8, 8), r"Conv2d\(3, 2.*\(batch, 3, height, width\)"),
    (moment.Conv2d(3, 2, 3), (2, 3, 2, 8), r"Conv2d\(3, 2.*not be smaller than the window"),
    (moment.Conv2d(3, 2, 3, dilation=2), (2, 3, 8, 4), r"Conv2d\(3, 2.*smaller than the window"),
    (moment.MaxPool2d(2), (3, 8, 8), r"MaxPool2d\(.*\(batch, channels, height, width\)"),
    (moment.MaxPool2d(3), (2, 3, 8, 2), r"MaxPool2d\(.*smaller than the"),
    (moment.AvgPool2d(2), (3, 8, 8), r"AvgPool2d\(.*\(batch, channels, height, width\)"),
    (moment.AvgPool2d(3), (2, 3, 2, 8), r"AvgPool2d\(.*smaller than the"),
    (
        moment.AdaptiveAvgPool2d(2),
        (3, 8, 8),
        r"AdaptiveAvgPool2d\(.*\(batch, channels, height, width\)",
    ),
    (moment.BatchNorm1d(4), (6, 5), r"BatchNorm1d\(4.*2 or 3 dimensions, the second of size 4"),
    (
        moment.BatchNorm1d(4),
        (6, 4, 2, 2),
        r"BatchNorm1d\(4.*2 or 3 dimensions, the second of size 4",
    ),
    (moment.BatchNorm2d(4), (6, 4), r"BatchNorm2d\(4.*4 dimensions, the second of size 4"),
    (moment.BatchNorm1d(4), (1, 4), r"BatchNorm1d\(4.*more than one value per feature"),
    (moment.BatchNorm2d(4), (1, 4, 1, 1), r"BatchNorm2d\(4.*more than one value per feature"),
]


@pytest.mark.parametrize(("layer", "shape", "must"), WRONG_SHAPES, ids=str)
@pytest.mark.parametrize("has_var", [False, True])
def test_a_wrong_shape_is_refused_with_what_must_hold_and_what_came(
    layer: nn.Module, shape: tuple[int, ...], must: str, has_var: bool
) -> None:
    x = torch.ones(shape)
    with pytest.raises(InputError, match=must) as error:
        layer(Moments(x, x) if has_var else x)
    assert f"but got {shape}" in str(error.value)


@pytest.mark.parametrize(("layer", "shape", "must"), WRONG_SHAPES, ids=str)
def test_shapes_are_checked_without_validation_too(
    layer: nn.Module, shape: tuple[int, ...], must: str
) -> None:
    with validation(False), pytest.raises(InputError, match=must):
        layer(torch.ones(shape))


# Layers that take moments of any or of the given shape
LAYERS = [
    (moment.Linear(4, 3), (2, 4)),
    (moment.Conv2d(2, 3, 3), (2, 2, 4, 4)),
    (moment.BatchNorm1d(4), (2, 4)),
    (moment.BatchNorm2d(2), (2, 2, 4, 4)),
    (moment.ReLU(), (2, 4)),
    (moment.LeakyReLU(), (2, 4)),
    (moment.Tanh(), (2, 4)),
    (moment.GaussianReLU(), (2, 4)),
    (moment.MaxPool2d(2), (2, 2, 4, 4)),
    (moment.AvgPool2d(2), (2, 2, 4, 4)),
    (moment.AdaptiveAvgPool2d(2), (2, 2, 4, 4)),
    (moment.Dropout(), (2, 4)),
    (moment.Softmax(), (2, 4)),
]
all_layers = pytest.mark.parametrize(("layer", "shape"), LAYERS, ids=lambda x: type(x).__name__)


@all_layers
@pytest.mark.parametrize("is_validating", [True, False])
def test_mean_and_variance_of_different_shapes_are_refused(
    layer: nn.Module, shape: tuple[int, ...], is_validating: bool
) -> None:
    x = Moments(torch.ones(shape), torch.ones(1, *shape[1:]))
    must = rf"{type(layer).__name__}\(.*must have one shape, but got \({shape[0]}, .* and \(1, "
    with validation(is_validating), pytest.raises(InputError, match=must):
        layer(x)


@pytest.mark.parametrize("has_var", [False, True])
def test_paths_of_a_residual_that_end_in_different_shapes_are_refused(has_var: bool) -> None:
    x = torch.ones(2, 4)
    with pytest.raises(InputError, match=r"Residual\(.*\(2, 1\) and \(2, 4\)"):
        moment.Residual(moment.Linear(4, 1))(Moments(x, x) if has_var else x)


def with_one(shape: tuple[int, ...], value: float) -> Tensor:
    """Ones, but for one element."""
    x = torch.ones(shape)
    x.view(-1)[3] = value
    return x


@all_layers
@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("has_var", [False, True])
def test_a_mean_that_is_not_finite_is_refused(
    layer: nn.Module, shape: tuple[int, ...], value: float, has_var: bool
) -> None:
    mean = with_one(shape, value)
    must = rf"{type(layer).__name__}\(.*mean must be finite, but 1 of {mean.numel()} elements"
    with pytest.raises(InputError, match=must):
        layer(Moments(mean, torch.ones(shape)) if has_var else mean)


@all_layers
@pytest.mark.parametrize("value", [NAN, INF, -INF, -1e-6])
def test_a_variance_that_is_negative_or_not_finite_is_refused(
    layer: nn.Module, shape: tuple[int, ...], value: float
) -> None:
    must = rf"{type(layer).__name__}\(.*variance must be finite and >= 0, but its smallest"
    with pytest.raises(InputError, match=must):
        layer(Moments(torch.ones(shape), with_one(shape, value)))


def test_the_message_holds_the_smallest_and_the_largest_variance() -> None:
    with pytest.raises(InputError, match=r"smallest element is -0\.25 and its largest 3\."):
        moment.ReLU()(Moments(vectors(1.0, 1.0), vectors(3.0, -0.25)))


def test_finite_means_whose_sum_overflows_are_taken() -> None:
    x = torch.full((2, 4), 3e38)
    assert torch.equal(moment.ReLU()(x).mean, x)


@all_layers
def test_an_empty_batch_is_taken_at_evaluation(layer: nn.Module, shape: tuple[int, ...]) -> None:
    out = layer.eval()(Moments(torch.ones(0, *shape[1:]), torch.ones(0, *shape[1:])))
    layer.train()
    assert out.mean.shape[0] == 0


@all_layers
@pytest.mark.parametrize(("mean", "var"), [(NAN, 1.0), (1.0, NAN), (1.0, -1.0)])
def test_values_are_not_checked_without_validation(
    layer: nn.Module, shape: tuple[int, ...], mean: float, var: float
) -> None:
    with validation(False):
        out = layer(Moments(with_one(shape, mean), with_one(shape, var)))
    assert isinstance(out, Moments)


def test_validation_is_as_before_after_its_block() -> None:
    with validation(False), validation(True), pytest.raises(InputError):
        moment.ReLU()(vectors(NAN))
    with pytest.raises(InputError):
        moment.ReLU()(vectors(NAN))


def test_validation_is_as_before_after_an_error_in_its_block() -> None:
    with pytest.raises(ZeroDivisionError), validation(False):
        raise ZeroDivisionError
    with pytest.raises(InputError):
        moment.ReLU()(vectors(NAN))


# Labels

LIKELIHOODS = [moment.ExpectedSoftmax(), moment.Gaussian(), moment.Gaussian(covariance="diagonal")]
all_likelihoods = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)


@all_likelihoods
@pytest.mark.parametrize(
    ("labels", "got"),
    [([0, -1], r"-1 \.\.\. 0"), ([3, 0], r"0 \.\.\. 3"), ([7, 7], r"7 \.\.\. 7")],
)
def test_a_label_out_of_range_is_refused(
    likelihood: nn.Module, labels: list[int], got: str
) -> None:
    must = rf"{type(likelihood).__name__}\(.*labels must lie in 0 \.\.\. 2, but got {got}"
    with pytest.raises(InputError, match=must):
        likelihood(Moments(torch.ones(2, 3), torch.ones(2, 3)), torch.tensor(labels))


@all_likelihoods
@pytest.mark.parametrize(
    ("labels", "got"),
    [
        (torch.tensor([0.0, 1.0]), r"torch.float32 .*\(2,\)"),
        (torch.tensor([0, 1], dtype=torch.int32), r"torch.int32 .*\(2,\)"),
        (torch.tensor([0, 1, 2]), r"torch.int64 .*\(3,\)"),
        (torch.tensor([[0], [1]]), r"torch.int64 .*\(2, 1\)"),
        (torch.tensor(0), r"torch.int64 .*\(\)"),
    ],
    ids=["float", "int32", "too many", "a column", "a number"],
)
@pytest.mark.parametrize("is_validating", [True, False])
def test_labels_of_a_wrong_type_or_shape_are_refused(
    likelihood: nn.Module, labels: Tensor, got: str, is_validating: bool
) -> None:
    must = rf"{type(likelihood).__name__}\(.*int64 of shape \(batch,\), but got \(2, 3\) and {got}"
    with validation(is_validating), pytest.raises(InputError, match=must):
        likelihood(Moments(torch.ones(2, 3), torch.ones(2, 3)), labels)


@all_likelihoods
def test_logits_that_are_not_a_matrix_are_refused(likelihood: nn.Module) -> None:
    with pytest.raises(InputError, match=r"\(batch, classes\).*but got \(2, 3, 4\)"):
        likelihood(Moments(torch.ones(2, 3, 4)), torch.tensor([0, 1]))


@all_likelihoods
@pytest.mark.parametrize(("mean", "var"), [(NAN, 1.0), (1.0, NAN), (1.0, -1.0), (INF, 1.0)])
def test_logits_with_bad_values_are_refused(
    likelihood: nn.Module, mean: float, var: float
) -> None:
    logits = Moments(with_one((2, 3), mean), with_one((2, 3), var))
    with pytest.raises(InputError, match=rf"{type(likelihood).__name__}\("):
        likelihood(logits, torch.tensor([0, 1]))


# Networks


@pytest.mark.parametrize("t", [-1, 2])
def test_a_task_without_a_head_is_refused(t: int) -> None:
    with pytest.raises(
        InputError, match=rf"Network: the task must lie in 0 \.\.\. 1, but got {t}"
    ):
        network()(torch.ones(3, 1, 4, 4), t)


@pytest.mark.parametrize("shape", [(3, 1, 4, 5), (3, 16), (1, 4, 4), (3, 4, 4, 1)])
def test_an_input_of_another_shape_is_refused_by_the_network(shape: tuple[int, ...]) -> None:
    must = r"Network: the input must have shape \(batch, 1, 4, 4\), but got \("
    with pytest.raises(InputError, match=must) as error:
        network()(torch.ones(shape), 0)
    assert str(shape) in str(error.value)


def test_the_place_of_the_layer_in_its_network_is_named() -> None:
    with pytest.raises(InputError, match=r"^trunk\.0: Flatten\("):
        network()(torch.full((3, 1, 4, 4), NAN), 0)


def test_the_place_of_a_head_is_named() -> None:
    heads = network().heads
    with pytest.raises(InputError, match=r"^heads\.1: Linear\(in_features=8"):
        heads[1](torch.ones(2, 9))


def test_the_place_of_a_layer_is_named_in_a_converted_network() -> None:
    converted = moment.from_torch(nn.Sequential(nn.Sequential(nn.Linear(2, 3)), nn.Linear(3, 2)))
    with pytest.raises(InputError, match=r"^0\.0: Linear\(in_features=2"):
        converted(torch.ones(2, 3))


def test_a_layer_on_its_own_is_named_by_class_and_sizes() -> None:
    with pytest.raises(InputError, match=r"^Linear\(in_features=2, out_features=3, bias=True\): "):
        moment.Linear(2, 3)(torch.ones(2, 3))


# Constructors

BAD_ARGUMENTS = [
    (lambda: moment.Dropout(1.0), r"Dropout: 0 <= p < 1 must hold, but got p=1\.0"),
    (lambda: moment.Dropout(-0.1), r"Dropout: 0 <= p < 1 must hold, but got p=-0\.1"),
    (lambda: moment.Conv2d(3, 4, 3, groups=2), r"Conv2d: groups must divide.*in_channels=3"),
    (lambda: moment.Conv2d(4, 3, 3, groups=2), r"Conv2d: groups must divide.*out_channels=3"),
    (lambda: moment.Conv2d(4, 4, 3, groups=0), r"Conv2d: groups must divide.*groups=0"),
    (lambda: moment.Conv2d(4, 4, 3, padding="full"), r"Conv2d: padding must be.*padding='full'"),
    (lambda: moment.Conv2d(4, 4, 2, padding="same"), r"Conv2d: padding.*kernel_size=\(2, 2\)"),
    (lambda: moment.Conv2d(4, 4, 3, 2, padding="same"), r"Conv2d: padding.*stride=\(2, 2\)"),
    (lambda: MomentLayers(relu="exact"), r"layers\.relu: no 'exact'; there is gaussian, taylor"),
    (
        lambda: MomentLayers(likelihood="softmax"),
        r"layers\.likelihood: no 'softmax'; did you mean",
    ),
    (lambda: MomentLayers(likelihood="gaussian", jitter=0.0), r"jitter.*must hold, but got 0\.0"),
]


@pytest.mark.parametrize(("make", "must"), BAD_ARGUMENTS, ids=[m for _, m in BAD_ARGUMENTS])
def test_a_bad_argument_is_a_configuration_error_that_names_it(
    make: Callable[[], object], must: str
) -> None:
    with pytest.raises(ConfigError, match=must):
        make()
