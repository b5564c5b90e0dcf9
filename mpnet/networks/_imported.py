"""A network of torch.nn from anywhere, by its import path: turned into layers of the family.

Its last linear layer, the head that it came with, makes room for one head per task.
"""

import copy
import importlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import nn

from mpnet.errors import ConfigError
from mpnet.layers import LayerFamily
from mpnet.networks._base import Trunk


def is_import_path(name: str) -> bool:
    """Whether a name is none of the registry but reads `package.module:callable`."""
    return ":" in name


def import_faults(name: str, options: Mapping[str, Any]) -> list[str]:
    """Why a network cannot be made; empty if it can. Nothing is computed."""
    try:
        text = json.dumps(options, sort_keys=True)
    except TypeError as error:
        return [f"options must be plain values, but: {error}."]
    return [_fault(name, text)] if _fault(name, text) else []


@cache
def _fault(name: str, options: str) -> str:
    try:
        with torch.device("meta"):
            _without_head(name, json.loads(options))
    except ConfigError as error:
        return str(error)
    return ""


def imported_trunk(
    name: str, layers: LayerFamily, input_shape: tuple[int, ...], options: Mapping[str, Any]
) -> Trunk:
    """The network without its head, in layers of the family.

    Raises:
        ConfigError: it cannot be made, images do not pass through it, or a layer has no rule.
    """
    body, n_features = _without_head(name, options)
    images = torch.zeros(2, *input_shape, device="meta")
    must = f"network {name}: images {input_shape} must pass through it"
    try:
        given = tuple(copy.deepcopy(body).to("meta").eval()(images).shape)
    except Exception as error:  # whatever somebody else's network raises
        text = " ".join(str(error).split()).rstrip(".")
        raise ConfigError(f"{must}, but: {text}; use other images or another network.") from error
    if given != (2, n_features):
        raise ConfigError(
            f"{must} to the {n_features} features of its last linear layer, but without that one "
            f"it gives {given} for two images; register a network of your own instead."
        )
    return Trunk(layers.from_torch(body), n_features)


def _without_head(name: str, options: Mapping[str, Any]) -> tuple[nn.Module, int]:
    network = _made(name, options)
    linear = [(path, m) for path, m in network.named_modules() if isinstance(m, nn.Linear)]
    if not linear or not linear[-1][0]:
        raise ConfigError(
            f"{name}: must end in a linear layer, whose place the heads of the tasks take, but "
            f"{type(network).__name__} has none within it."
        )
    path, head = linear[-1]
    network.set_submodule(path, nn.Identity())
    return network, head.in_features


def _made(name: str, options: Mapping[str, Any]) -> nn.Module:
    module, _, attribute = name.partition(":")
    must = f"{name}: must be package.module:callable that makes a torch.nn.Module"
    try:
        made = getattr(importlib.import_module(module), attribute)(**options)
    except ImportError as error:
        hint = "install it, or put the folder that holds it on PYTHONPATH"
        raise ConfigError(f"{must}, but: {error}; {hint}.") from error
    except Exception as error:  # whatever somebody else's code raises
        text = " ".join(str(error).split()).rstrip(".")
        hint = "see what it is called and which options it takes"
        raise ConfigError(f"{must}, but {type(error).__name__}: {text}; {hint}.") from error
    if not isinstance(made, nn.Module):
        raise ConfigError(f"{must}, but it makes a {type(made).__name__}; name another one.")
    return made
