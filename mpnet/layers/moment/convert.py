"""A deterministic torch.nn network turned into its moment twin."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from mpnet.errors import ConfigError
from mpnet.layers import name_layers
from mpnet.layers.moment import activation, batchnorm, pool, shape
from mpnet.layers.moment.conv import Conv2d
from mpnet.layers.moment.dropout import Dropout
from mpnet.layers.moment.linear import Linear
from mpnet.layers.moment.softmax import Softmax


def from_torch(module: nn.Module, *, rho: float = -12.0) -> nn.Module:
    """The network with its layers replaced by moment rules: means copied, variances softplus(rho).

    The original is left as it is. Containers of any class are kept with their own `forward`, which
    may use the layers, `+` and the functions of torch that have a rule, so that most networks of
    torchvision can be turned. A layer without a rule is an error that lists them all.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> mean, var = from_torch(net)(torch.ones(5, 4))
    >>> torch.equal(mean, net(torch.ones(5, 4))), bool((var > 0).all())
    (True, True)

    Args:
        module: a network of torch.nn layers, in any nesting.
        rho: initial value behind every variance.
    """
    conversion = _Conversion(rho)
    twin = conversion.of(copy.deepcopy(module), "")
    if conversion.missing:
        known = ", ".join(sorted(c.__name__ for c in _RULES))
        raise ConfigError(
            "from_torch: every layer must have a moment rule, "
            f"but got {'; '.join(conversion.missing)}. There are rules for {known}."
        )
    name_layers(twin)
    return twin


class _Conversion:
    """One walk over a network: what is done, and which layers have no rule."""

    def __init__(self, rho: float) -> None:
        self.rho = rho
        self.missing: list[str] = []
        self.done: dict[nn.Module, nn.Module] = {}
        self.owners: dict[nn.Parameter, str] = {}

    def of(self, module: nn.Module, path: str) -> nn.Module:
        """The twin of a module; a layer that stands in two places stays one layer."""
        if module not in self.done:
            convert = self._layer if type(module) in _RULES else self._box
            self.done[module] = convert(module, path)
        return self.done[module]

    def _layer(self, module: nn.Module, path: str) -> nn.Module:
        for parameter in module.parameters():
            if self.owners.setdefault(parameter, path) != path:
                self.missing.append(f"{path} (shares a parameter with {self.owners[parameter]})")
        try:
            return _RULES[type(module)](module, self.rho).train(module.training)
        except ConfigError as fault:
            self.missing.append(f"{path or 'the network'} ({fault})")
            return module

    def _box(self, module: nn.Module, path: str) -> nn.Module:
        """A container, changed in place."""
        # Not named_children(), which leaves out the second place of a shared layer.
        children = {name: child for name, child in module._modules.items() if child is not None}
        if not children or next(module.parameters(recurse=False), None) is not None:
            self.missing.append(f"{path or 'the network'} ({type(module).__name__})")
            return module
        for name, child in children.items():
            module._modules[name] = self.of(child, f"{path}.{name}".lstrip("."))
        return module


def _linear(layer: nn.Linear, rho: float) -> nn.Module:
    twin = Linear(layer.in_features, layer.out_features, layer.bias is not None, rho=rho)
    return _with_means(twin, layer)


def _conv2d(layer: nn.Conv2d, rho: float) -> nn.Module:
    if layer.padding_mode != "zeros":
        raise ConfigError(f"Conv2d: padding_mode must be 'zeros', but got {layer.padding_mode!r}")
    geometry: dict[str, Any] = {
        name: getattr(layer, name)
        for name in ("kernel_size", "stride", "padding", "dilation", "groups")
    }
    has_bias = layer.bias is not None
    twin = Conv2d(layer.in_channels, layer.out_channels, bias=has_bias, rho=rho, **geometry)
    return _with_means(twin, layer)


@torch.no_grad()
def _with_means(twin: Linear | Conv2d, layer: nn.Linear | nn.Conv2d) -> nn.Module:
    """Copy weights into means; dtype and device follow the original."""
    twin.to(layer.weight)
    twin.weight.mean.copy_(layer.weight)
    if twin.bias is not None and layer.bias is not None:
        twin.bias.mean.copy_(layer.bias)
        twin.bias.requires_grad_(layer.bias.requires_grad)
    twin.weight.requires_grad_(layer.weight.requires_grad)
    return twin


def _batch_norm(rule: type[nn.Module]) -> Callable[[Any, float], nn.Module]:
    def convert(layer: nn.BatchNorm1d | nn.BatchNorm2d, rho: float) -> nn.Module:
        twin = rule(
            layer.num_features, layer.eps, layer.momentum, layer.affine, layer.track_running_stats
        )
        twin.to(next(iter(layer.state_dict().values()), torch.empty(0)))
        twin.load_state_dict(layer.state_dict())
        for mine, theirs in zip(twin.parameters(), layer.parameters(), strict=True):
            mine.requires_grad_(theirs.requires_grad)
        return twin

    return convert


def _without_state(rule: type[nn.Module], *attributes: str) -> Callable[[Any, float], nn.Module]:
    """A conversion of layers that their arguments describe completely."""

    def convert(layer: nn.Module, rho: float) -> nn.Module:
        return rule(*(getattr(layer, name) for name in attributes))

    return convert


def _gelu(layer: nn.GELU, rho: float) -> nn.Module:
    if layer.approximate != "none":
        raise ConfigError(f"GELU: approximate must be 'none', but got {layer.approximate!r}")
    return activation.GELU()


def _softmax(layer: nn.Softmax, rho: float) -> nn.Module:
    if layer.dim is None:
        raise ConfigError("Softmax: dim must be given, but got None")
    return Softmax(layer.dim)


def _max_pool2d(layer: nn.MaxPool2d, rho: float) -> nn.Module:
    if layer.return_indices:
        raise ConfigError("MaxPool2d: return_indices must be False, but got True")
    return pool.MaxPool2d(
        layer.kernel_size, layer.stride, layer.padding, layer.dilation, layer.ceil_mode
    )


_RULES: dict[type[nn.Module], Callable[[Any, float], nn.Module]] = {
    nn.Linear: _linear,
    nn.Conv2d: _conv2d,
    nn.BatchNorm1d: _batch_norm(batchnorm.BatchNorm1d),
    nn.BatchNorm2d: _batch_norm(batchnorm.BatchNorm2d),
    nn.ReLU: _without_state(activation.ReLU),
    nn.LeakyReLU: _without_state(activation.LeakyReLU, "negative_slope"),
    nn.Tanh: _without_state(activation.Tanh),
    nn.Sigmoid: _without_state(activation.Sigmoid),
    nn.GELU: _gelu,
    nn.SiLU: _without_state(activation.SiLU),
    nn.MaxPool2d: _max_pool2d,
    nn.AvgPool2d: _without_state(
        pool.AvgPool2d,
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
        "divisor_override",
    ),
    nn.AdaptiveAvgPool2d: _without_state(pool.AdaptiveAvgPool2d, "output_size"),
    nn.Dropout: _without_state(Dropout, "p"),
    nn.Flatten: _without_state(shape.Flatten, "start_dim", "end_dim"),
    nn.Identity: _without_state(nn.Identity),
    nn.Softmax: _softmax,
}
