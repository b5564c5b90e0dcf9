"""Gradients of single examples, squared or absolute and summed, at about the cost of a batch's."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

from mpnet.networks import Network

CHUNK = 200  # examples at a time; a convolution's gradients are held for each of them

Objective = Callable[[Tensor], Tensor]
Measure = Callable[[Tensor], Tensor]


def summed_over_examples(
    network: Network, images: Tensor, t: int, objective: Objective, measure: Measure
) -> Tensor:
    """Sum over examples of measure(gradient of the example's objective), flat over the trunk.

    In evaluation mode examples do not see each other, so one backward pass of the sum gives every
    example's gradient at the output of every layer; only the way from there to the layer's own
    parameters is taken example by example.

    Args:
        network: of plain layers, in evaluation mode.
        images: (batch, *input_shape).
        t: whose head is used.
        objective: from logits (batch, classes) to one number per example (batch,).
        measure: torch.square or torch.abs; measure(a * b) = measure(a) * measure(b) must hold.
    """
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def remember(layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        seen[layer] = (inputs[0].detach(), output)

    layers = [
        m for m in network.shared_modules() if any(True for _ in m.parameters(recurse=False))
    ]
    hooks = [layer.register_forward_hook(remember) for layer in layers]
    try:
        with torch.enable_grad():
            total = objective(network(images, t)).sum()
    finally:
        for hook in hooks:
            hook.remove()
    at_outputs = torch.autograd.grad(total, [seen[layer][1] for layer in layers])
    sums = [
        part.flatten()
        for layer, gradient in zip(layers, at_outputs, strict=True)
        for part in _of_layer(layer, seen[layer][0], gradient, measure)
    ]
    return torch.cat(sums)


@torch.no_grad()
def _of_layer(
    layer: nn.Module, inputs: Tensor, gradient: Tensor, measure: Measure
) -> list[Tensor]:
    """One sum per parameter of a layer, from its inputs and the gradient at its outputs."""
    if isinstance(layer, nn.Linear):  # an outer product, so the sum is a product of matrices
        return [measure(gradient).T @ measure(inputs), measure(gradient).sum(0)]
    parameters = {name: p.detach() for name, p in layer.named_parameters()}

    def of_example(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        pull_back = vjp(lambda p: functional_call(layer, p, (x[None],)), parameters)[1]
        return pull_back(g[None])[0]

    return [measure(each).sum(0) for each in vmap(of_example)(inputs, gradient).values()]
