"""What the tests of the moment layers compare with, and what they feed them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from mpnet.layers.moment import Moments, gaussian_parameters

RHO_GRID = (-10.0, -12.0, -14.0, -16.0, -18.0)  # the paper's
VANISHING_RHO = -200.0  # its variance is 0 in single precision and 1e-87 in double


class PlainResidual(nn.Module):
    """The torch.nn twin of `Residual`."""

    def __init__(self, body: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.body = body
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both paths."""
        return self.body(x) + self.shortcut(x)


class CountedCalls(TorchDispatchMode):
    """Counts the aten operations in its block and keeps the shapes of their first arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.first_shapes: dict[str, list[tuple[int, ...]]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Note the call, then make it."""
        name = func.overloadpacket.__name__
        self.counts[name] += 1
        if args and isinstance(args[0], Tensor):
            self.first_shapes.setdefault(name, []).append(tuple(args[0].shape))
        return func(*args, **(kwargs or {}))

    @property
    def matrix_products(self) -> int:
        """Calls of any kind of matrix product."""
        return sum(self.counts[n] for n in ("mm", "addmm", "addmm_", "bmm", "baddbmm", "matmul"))


@torch.no_grad()
def randomise(layer: nn.Module, rho: float) -> nn.Module:
    """Give all parameters and running statistics random values, variances near softplus(rho)."""
    gaussians = gaussian_parameters(layer)
    for parameter in layer.parameters():
        parameter.uniform_(0.5, 1.5)
    for gaussian in gaussians:
        gaussian.mean.normal_(0.0, 0.7)
        gaussian.rho.uniform_(rho - 0.5, rho + 0.5)
    for name, buffer in layer.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return layer


def deterministic_state(layer: nn.Module) -> dict[str, Tensor]:
    """The state of the torch.nn twin: the means of Gaussian parameters, and all else as it is."""
    left_out = ("rho", "prior_mean", "prior_var")
    state = {
        k: v.clone() for k, v in layer.state_dict().items() if k.split(".")[-1] not in left_out
    }
    return {k.removesuffix(".mean"): v for k, v in state.items()}


def sampled_moments(layer: nn.Module, twin: nn.Module, x: Moments, n_samples: int) -> Moments:
    """Mean and variance of the twin's output over draws of the layer's weights and inputs."""
    drawn = {
        name: _draws(module.mean, module.var, n_samples)
        for name, module in layer.named_modules()
        if module in gaussian_parameters(layer)
    }

    def output(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        result: Tensor = functional_call(twin, weights, (x,))
        return result

    with torch.no_grad():
        outputs = vmap(output)(drawn, _draws(x.mean, x.dense_var, n_samples))
        var, mean = torch.var_mean(outputs, 0)
    return Moments(mean, var)


def _draws(mean: Tensor, var: Tensor, n: int) -> Tensor:
    return torch.randn(n, *mean.shape, dtype=mean.dtype).mul_(var.sqrt()).add_(mean).detach()


def softmax_covariance(logits: Moments) -> Tensor:
    """The full matrix J diag(v) J^T, (..., classes, classes); its rows sum to zero."""
    p = logits.mean.softmax(-1)
    jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    return (jacobian * logits.dense_var.unsqueeze(-2)) @ jacobian.mT
