"""A network that is named by its import path."""

from pathlib import Path

import pytest
import torch
from torch import nn

from mpnet.config import parse_run
from mpnet.contract import resume_faults, small_run
from mpnet.device_contract import META
from mpnet.errors import ConfigError
from mpnet.layers import FAMILIES
from mpnet.layers.moment import gaussian_parameters, validation
from mpnet.networks import build_network

HERE = "tests.mpnet.networks.test_imported"


class Tiny(nn.Module):
    """A residual network in small, with a `forward` of its own."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, width, 3), nn.Conv2d(width, width, 3, padding=1)
        self.norm, self.act, self.fc = nn.BatchNorm2d(width), nn.ReLU(), nn.Linear(width, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, 1, height, width) to (batch, 7)."""
        x = self.first(x)
        x = self.act(x + self.norm(self.second(x)))
        logits: torch.Tensor = self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))
        return logits


def headless() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.ReLU())


def number() -> int:
    return 3


@pytest.mark.parametrize("name", ["lra", "plain_ft"])
def test_a_run_of_it_is_the_same_after_a_stop(name: str, tmp_path: Path) -> None:
    config = small_run(name, network={"name": f"{HERE}:Tiny", "width": 5})
    assert resume_faults(config, 3, tmp_path) == []


def test_its_head_makes_room_for_one_per_task() -> None:
    torch.manual_seed(0)
    network = build_network(f"{HERE}:Tiny", FAMILIES["moment"](rho=-5.0), (1, 8, 8), [2, 3])
    assert [tuple(network(torch.ones(4, 1, 8, 8), t).mean.shape) for t in (0, 1)] == [
        (4, 2),
        (4, 3),
    ]
    assert not any(isinstance(m, nn.Linear | nn.Conv2d) for m in network.modules())
    members = gaussian_parameters(network.trunk)
    assert len(members) == 4 and all((m.rho == -5).all() for m in members)


@pytest.mark.parametrize("family", ["plain", "moment"])
def test_torchvisions_resnet18_gives_features_to_the_heads(family: str) -> None:
    layers = FAMILIES[family]()
    with META, validation(False):
        network = build_network("torchvision.models:resnet18", layers, (3, 32, 32), [5])
        output = network(torch.zeros(2, 3, 32, 32), 0)
    assert tuple((output if family == "plain" else output.mean).shape) == (2, 5)


def test_all_faults_of_a_path_are_told_with_those_of_the_rest() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_run({"network": {"name": "torchvision.models:resnt18"}, "method": {"name": "ftt"}})
    first, second = str(caught.value).splitlines()
    assert first.startswith("run.network.name: torchvision.models:resnt18: must be package.module")
    assert "resnt18" in first and "see what it is called" in first
    assert second.startswith("run.method.name")


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ({"name": "absent_package:net"}, "No module named 'absent_package'; install it"),
        ({"name": f"{HERE}:Tiny", "widht": 5}, "unexpected keyword argument 'widht'"),
        ({"name": f"{HERE}:headless"}, "must end in a linear layer"),
        ({"name": f"{HERE}:number"}, "but it makes a int"),
    ],
)
def test_what_cannot_be_a_network_is_refused(network: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match="run.network.name: ") as caught:
        parse_run({"network": network})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "family", "shape", "words"),
    [
        (f"{HERE}:Tiny", "moment", (3, 8, 8), "images (3, 8, 8) must pass through it, but"),
        ("torchvision.models:alexnet", "plain", (3, 32, 32), "must pass through it, but"),
        (f"{HERE}:Tiny", "sampled", (1, 8, 8), "must have moment or plain layers"),
        (f"{HERE}:Tiny", "gated", (1, 8, 8), "must have moment or plain layers"),
    ],
)
def test_images_and_families_that_do_not_fit_are_refused(
    name: str, family: str, shape: tuple[int, ...], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        build_network(name, FAMILIES[family](), shape, [2])
    assert words in str(caught.value)
