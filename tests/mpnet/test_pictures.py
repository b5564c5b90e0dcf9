"""Heat maps as PNG."""

import io
import sys

import numpy as np
import pytest
from PIL import Image

from mpnet.pictures import heat_map


def matrix(n_tasks: int) -> list[list[float | None]]:
    return [[0.9 + 0.01 * i if i <= t else None for i in range(n_tasks)] for t in range(n_tasks)]


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


@pytest.mark.parametrize("n_tasks", [1, 2, 10])
def test_a_matrix_of_any_size_becomes_a_png(n_tasks: int) -> None:
    assert min(opened(heat_map(matrix(n_tasks), "R")).size) >= 400


def test_cells_above_the_diagonal_are_blank_and_those_below_are_not() -> None:
    picture = np.asarray(opened(heat_map(matrix(2), "R")))
    height, width, _ = picture.shape
    upper_right = picture[int(0.2 * height), int(0.8 * width)]
    lower_left = picture[int(0.8 * height), int(0.25 * width)]
    assert upper_right.tolist() == [255, 255, 255]
    assert lower_left.tolist() != [255, 255, 255]


def test_a_title_with_dollar_signs_is_no_formula() -> None:
    assert heat_map(matrix(2), r"cost $1 \frac{ $2")


def test_the_same_matrix_gives_the_same_bytes() -> None:
    assert heat_map(matrix(3), "R") == heat_map(matrix(3), "R")


def test_a_matrix_of_equal_accuracies_is_drawn() -> None:
    assert heat_map([[1.0, None], [1.0, 1.0]], "R")


def test_drawing_leaves_the_global_state_of_pyplot_alone() -> None:
    heat_map(matrix(2), "R")
    assert (
        "matplotlib.pyplot" not in sys.modules
        or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_data_sets_take_room_beside_the_matrix_and_not_from_it() -> None:
    plain, named = (
        opened(heat_map(matrix(2), "R", names)).size for names in ((), ("fashion_mnist", "svhn"))
    )
    assert named[0] > plain[0] and named[1] == plain[1]
