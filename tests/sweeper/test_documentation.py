"""What search_spaces/README.md says is what there is."""

import re
from pathlib import Path

import pytest

from mpnet.reading import parse_yaml
from sweeper.config.settings import SelectSettings, SweepSettings
from sweeper.config.space import KINDS
from sweeper.config.sweep import parse_sweep

TEXT = (Path(__file__).parents[2] / "search_spaces" / "README.md").read_text()


@pytest.mark.parametrize(
    "key", [*SweepSettings.model_fields, *SelectSettings.model_fields, *KINDS]
)
def test_every_key_is_described(key: str) -> None:
    assert f"`{key}`" in TEXT


def test_the_example_is_a_sweep() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert parse_sweep(parse_yaml(example), "example").n_trials == 32
