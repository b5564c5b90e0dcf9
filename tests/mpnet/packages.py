"""Packages and pictures outside this project: folders that are put where one looks for them."""

from pathlib import Path

from PIL import Image

CLASSES = ("ant", "bee", "cat", "dog")

METHOD = '''"""Springs that are all alike."""

import torch
from mpnet.methods import METHODS, Method


@METHODS.register("{name}")
class Springs(Method):
    """Holds every weight of the trunk where the last task left it."""

    family = "plain"

    def __init__(self, network, *, strength: float = 1.0) -> None:
        super().__init__(network)
        self.strength = strength
        self.register_buffer("anchor", self.trunk().detach().clone())
        self.register_buffer("is_held", torch.zeros(()))

    def trunk(self):
        return torch.cat([p.flatten() for p in self.network.trunk_parameters()])

    def penalty(self, t):
        return self.strength * self.is_held * (self.trunk() - self.anchor).square().sum()

    def end_task(self, t, examples):
        self.anchor.copy_(self.trunk().detach())
        self.is_held.fill_(1)
'''

NETWORK = '''"""One hidden layer."""

import math

from mpnet.networks import NETWORKS, Trunk


@NETWORKS.register("{name}")
def narrow(layers, input_shape, *, width: int = 8) -> Trunk:
    n_in = math.prod(input_shape)
    body = layers.sequential(layers.flatten(), layers.linear(n_in, width), layers.relu())
    return Trunk(body, width)
'''

IMPORTED = '''"""A network of torch.nn that knows nothing of this project."""

from torch import nn


def shallow(width: int = 8) -> nn.Module:
    hidden = nn.Linear(3 * 8 * 8, width)
    return nn.Sequential(nn.Flatten(), hidden, nn.ReLU(), nn.Linear(width, 5))
'''


def write_module(folder: Path, dotted: str, text: str) -> None:
    """A module of a package in `folder`."""
    *packages, name = dotted.split(".")
    place = folder.joinpath(*packages)
    place.mkdir(parents=True, exist_ok=True)
    (place / "__init__.py").touch()
    (place / f"{name}.py").write_text(text)


def declare(folder: Path, package: str, group: str, entry: str) -> None:
    """What an installer leaves of a package with an entry point."""
    place = folder / f"{package}-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


def draw(folder: Path, classes: tuple[str, ...] = CLASSES, n: int = 20) -> None:
    """Pictures of odd sizes, each of one grey that tells class and number."""
    for label, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(n):
            grey = 50 * label + i
            picture = Image.new("RGB", (5 + i, 9), (grey, grey, grey))
            picture.save(folder / name / f"{i:03d}.png")
