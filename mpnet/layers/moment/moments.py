"""What flows between the layers of a moment network: a mean and a variance per element."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor, nn

from mpnet.errors import InputError

_validating = ContextVar("validating", default=True)

FUNCTIONS: dict[Callable[..., Any], Callable[..., "Moments"]] = {}  # of torch: see functions.py


class Moments(NamedTuple):
    """Mean and diagonal variance of an activation; `var` is None where it is exactly zero.

    None rather than a tensor of zeros, so that a deterministic input costs no multiplication with
    it. Functions of torch that have a rule take moments as they take tensors:

    >>> import torch
    >>> images = Moments(torch.ones(2, 3, 4, 4), torch.full((2, 3, 4, 4), 0.5))
    >>> torch.flatten(images, 1).shape
    torch.Size([2, 48])
    """

    mean: Tensor
    var: Tensor | None = None

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> "Moments":
        """What torch calls for a function that is given moments."""
        if function not in FUNCTIONS:
            known = ", ".join(sorted({known.__name__ for known in FUNCTIONS}))
            raise InputError(
                f"Moments: {function.__name__} has no moment rule; there are rules for {known}."
            )
        return FUNCTIONS[function](*args, **(kwargs or {}))

    @property
    def shape(self) -> torch.Size:
        """The shape of both moments."""
        return self.mean.shape

    def size(self, dim: int | None = None) -> Any:
        """The shape of both moments, or one dimension of it."""
        return self.mean.shape if dim is None else self.mean.shape[dim]

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> "Moments":
        """Both moments flattened alike."""
        return torch.flatten(self, start_dim, end_dim)  # type: ignore[arg-type, return-value]

    def reshape(self, *shape: Any) -> "Moments":
        """Both moments in another shape."""
        var = None if self.var is None else self.var.reshape(*shape)
        return Moments(self.mean.reshape(*shape), var)

    def view(self, *shape: Any) -> "Moments":
        """Both moments in another shape."""
        return self.reshape(*shape)

    def __add__(self, other: "Moments | Tensor") -> "Moments":  # type: ignore[override]
        """Sum of two independent activations: means add, variances add."""
        other = as_moments(other)
        if self.mean.shape != other.mean.shape:
            raise InputError(
                "Moments: both sides of + must have one shape, "
                f"but got {tuple(self.mean.shape)} and {tuple(other.mean.shape)}."
            )
        if self.var is None or other.var is None:
            return Moments(self.mean + other.mean, other.var if self.var is None else self.var)
        return Moments(self.mean + other.mean, self.var + other.var)

    def __radd__(self, other: Tensor) -> "Moments":
        """Sum with a tensor on the left, which has no variance."""
        return self + other

    def __mul__(self, other: object) -> NoReturn:
        """Refuse a product, which would be the repetition of a tuple."""
        raise InputError("Moments: * has no rule; scale the weights of a layer instead.")

    def __rmul__(self, other: object) -> NoReturn:
        """Refuse a product from the other side, too."""
        self.__mul__(other)

    @property
    def dense_var(self) -> Tensor:
        """The variance as a tensor, zeros included."""
        return torch.zeros_like(self.mean) if self.var is None else self.var


def as_moments(x: Tensor | Moments) -> Moments:
    """A tensor is an activation without variance."""
    if not isinstance(x, Tensor | Moments):
        raise InputError(
            f"a tensor or Moments(mean, var) must come in, but got {type(x).__name__}."
        )
    return x if isinstance(x, Moments) else Moments(x)


@contextlib.contextmanager
def validation(enabled: bool) -> Iterator[None]:
    """Switch the checks of values on or off (NaN, negative variance, label range); not of shapes.

    They cost a reduction per layer and, on a GPU, a wait for it; a training loop that has checked
    its data once and watches its loss can do without.
    """
    token = _validating.set(enabled)
    try:
        yield
    finally:
        _validating.reset(token)


def is_validating() -> bool:
    """Whether values are checked here and now."""
    return _validating.get()


def check_moments(layer: nn.Module, x: Tensor | Moments) -> Moments:
    """The input as moments, if they are of one shape and, where values are checked, possible."""
    try:
        mean, var = x = as_moments(x)
    except InputError as error:
        raise InputError(f"{describe(layer)}: {error}") from None
    if not mean.is_floating_point():
        raise InputError(
            f"{describe(layer)}: the input must be of floating-point numbers, "
            f"but got {mean.dtype}; convert images with x.float() / 255."
        )
    if var is not None and var.shape != mean.shape:
        raise InputError(
            f"{describe(layer)}: mean and variance must have one shape, "
            f"but got {tuple(mean.shape)} and {tuple(var.shape)}."
        )
    if is_validating() and mean.numel():
        _check_values(layer, mean.detach(), None if var is None else var.detach())
    return x


def _check_values(layer: nn.Module, mean: Tensor, var: Tensor | None) -> None:
    # A sum is NaN or infinite as soon as one element is; it is the cheapest reduction.
    if not torch.isfinite(mean.sum()) and not (finite := torch.isfinite(mean)).all():
        n_bad = int((~finite).sum())
        raise InputError(
            f"{describe(layer)}: the mean must be finite, but {n_bad} of {mean.numel()} elements "
            "are NaN or infinite; look at the layer before, or at the data."
        )
    if var is None:
        return
    low, high = torch.aminmax(var)
    if not low >= 0 or not torch.isfinite(high):
        raise InputError(
            f"{describe(layer)}: the variance must be finite and >= 0, "
            f"but its smallest element is {low.item():.4g} and its largest {high.item():.4g}."
        )


def describe(layer: nn.Module) -> str:
    """A layer's place in its network (where known), its class and its sizes."""
    where = getattr(layer, "path", "")
    return f"{where + ': ' if where else ''}{type(layer).__name__}({layer.extra_repr()})"
