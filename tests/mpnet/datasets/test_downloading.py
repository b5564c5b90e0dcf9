"""Downloads from a server on this machine, and from nobody."""

import socket
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torchvision.datasets as official

from mpnet.datasets import _downloading, mnist, svhn
from mpnet.errors import DataMissing
from tests.mpnet.datasets.conftest import idx_files, md5, packed, random_images
from tests.mpnet.datasets.conftest import load_partial as load

TRAIN, TEST = random_images(25, 1, 28, 28), random_images(15, 1, 28, 28, seed=1)


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach this machine directly, whatever the environment says."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a server and the folder it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(_Silent, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/", folder
        running.shutdown()
        thread.join()


@pytest.fixture
def served_mnist(server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny MNIST that torchvision downloads; the folder of the packed files."""
    url, folder = server
    contents = idx_files(TRAIN, TEST)
    for name, data in contents.items():
        (folder / f"{name}.gz").write_bytes(packed(data))
    resources = [(f"{name}.gz", md5(packed(data))) for name, data in contents.items()]
    monkeypatch.setattr(official.MNIST, "mirrors", [url])
    monkeypatch.setattr(official.MNIST, "resources", resources)
    monkeypatch.setattr(mnist, "_MIRROR", url)
    monkeypatch.setattr(mnist, "_MD5", {name: md5(data) for name, data in contents.items()})
    return folder


def test_a_missing_set_is_downloaded_and_only_its_files_stay(
    served_mnist: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    np.testing.assert_array_equal(load("mnist", "test", root).images, TEST.images)
    np.testing.assert_array_equal(load("mnist", "train", root).labels, TRAIN.labels)
    assert {path.name for path in root.iterdir()} == {"MNIST", "decoded"}
    assert {path.name for path in (root / "MNIST" / "raw").iterdir()} == set(mnist._MD5)


def test_a_download_that_is_not_what_it_should_be_leaves_nothing(
    served_mnist: Path, tmp_path: Path
) -> None:
    (served_mnist / "t10k-labels-idx1-ubyte.gz").write_bytes(b"something else")
    root = tmp_path / "root"
    with pytest.raises(DataMissing, match="the download failed"):
        load("mnist", "test", root)
    assert {path.name for path in root.iterdir()} == {"decoded"}


def test_what_a_killed_download_left_behind_is_cleared_away(
    served_mnist: Path, tmp_path: Path
) -> None:
    half = tmp_path / "root" / ".download-mnist" / "MNIST" / "raw" / "train-images-idx3-ubyte"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    np.testing.assert_array_equal(load("mnist", "train", tmp_path / "root").images, TRAIN.images)
    assert not (tmp_path / "root" / ".download-mnist").exists()


def test_a_file_that_the_server_does_not_have_is_a_data_missing(
    server: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {"train": [f"{server[0]}train_32x32.mat", "train_32x32.mat", "0" * 32]}
    monkeypatch.setattr(official.SVHN, "split_list", listed)
    monkeypatch.setattr(svhn, "_URL", server[0])
    with pytest.raises(DataMissing, match="the download failed: HTTP Error 404"):
        load("svhn", "train", tmp_path)


def test_without_a_network_the_error_comes_at_once_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        monkeypatch.setattr(svhn, "_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/")
        start = time.monotonic()
        with pytest.raises(DataMissing) as error:
            load("svhn", "train", tmp_path)
    assert time.monotonic() - start < 2
    path = tmp_path / "train_32x32.mat"
    for fact in (str(path), "182,040,794 bytes", "e26dedcc434d2e4c54c9b2d4a06d8373", "no network"):
        assert fact in str(error.value)


def test_a_host_that_never_answers_is_given_up_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_downloading, "ANSWER_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(svhn, "_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        start = time.monotonic()
        with pytest.raises(DataMissing, match="no network"):
            load("svhn", "train", tmp_path)
        assert time.monotonic() - start < 2


def test_a_set_that_only_the_user_can_provide_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_downloading, "_answers", pytest.fail)
    with pytest.raises(DataMissing, match=r"facescrub_train_100\.pkl"):
        load("facescrub", "train", tmp_path)


def test_the_time_out_of_other_sockets_is_left_as_it_was(
    served_mnist: Path, tmp_path: Path
) -> None:
    before = socket.getdefaulttimeout()
    load("mnist", "train", tmp_path / "root")
    assert socket.getdefaulttimeout() == before
