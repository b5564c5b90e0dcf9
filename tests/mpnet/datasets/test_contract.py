"""What holds for every registered data set, read from its description alone."""

import ast
from pathlib import Path

import pytest

from mpnet import datasets
from mpnet.datasets import DATASETS, PARTS, Part, dataset
from mpnet.errors import DataMissing

FOLDER = Path(datasets.__file__).parent
SLOW_IMPORTS = {"torch", "torchvision", "sklearn", "scipy", "PIL", "filelock"}

every_set = pytest.mark.parametrize("name", list(DATASETS))
every_part = pytest.mark.parametrize("part", PARTS)


def test_there_is_one_file_per_set_and_one_set_per_file() -> None:
    files = {path.stem for path in FOLDER.glob("[!_]*.py")}
    assert files == set(DATASETS)


@every_set
def test_a_description_is_complete(name: str) -> None:
    described = dataset(name)
    assert described.n_classes > 1
    assert described.shape[0] in (1, 3)
    assert described.how_to_get.endswith(".")
    assert all(set(layout.files) == set(PARTS) for layout in described.layouts)


@every_set
@every_part
def test_no_source_file_leaves_the_root(name: str, part: Part) -> None:
    files = [file for layout in dataset(name).layouts for file in layout.files[part]]
    assert not any(file.path.startswith("/") or ".." in file.path for file in files)


@pytest.mark.parametrize("name", [n for n in DATASETS if n != "digits"])
@every_part
def test_the_error_names_every_file_with_path_size_and_checksum(
    name: str, part: Part, tmp_path: Path
) -> None:
    described = dataset(name)
    error = described.missing(tmp_path, part)
    assert isinstance(error, DataMissing)
    assert described.how_to_get in str(error)
    for file in (file for layout in described.layouts for file in layout.files[part]):
        assert str(tmp_path / file.path) in str(error)
        assert (file.md5 or "") in str(error)
        assert (f"{file.size:,} bytes" if file.size else "") in str(error)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_importing_brings_no_slow_package(path: Path) -> None:
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    imports = [s for s in statements if isinstance(s, ast.Import)]
    froms = [s for s in statements if isinstance(s, ast.ImportFrom)]
    modules = {alias.name for s in imports for alias in s.names} | {s.module for s in froms}
    assert not {str(module).split(".")[0] for module in modules} & SLOW_IMPORTS
