"""Pickles from elsewhere: arrays and plain containers are read, code is never run."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from mpnet.datasets._base import Bytes, Labels

# What this numpy calls the module that its older and newer versions name otherwise.
_CORE = np.empty(0).__reduce__()[0].__module__.rpartition(".")[0]

# All that pickles of arrays name, written by any Python and any numpy.
_ALLOWED = {
    ("_codecs", "encode"),
    ("builtins", "bytearray"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in [
            ("multiarray", "_reconstruct"),
            ("multiarray", "scalar"),
            ("numeric", "_frombuffer"),
        ]
    ),
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"only arrays and plain containers may be in a pickle, but not {module}.{name}"
            )
        return super().find_class(re.sub(r"^numpy\._?core", _CORE, module), name)


def features_and_labels(path: Path) -> tuple[Bytes, Labels]:
    """The arrays of {'features': ..., 'labels': ...}, as bytes and 64-bit numbers."""
    with path.open("rb") as stream:
        held = _ArraysOnly(stream, encoding="latin1").load()  # latin1: Python 2 wrote some
    if not isinstance(held, dict) or not {"features", "labels"} <= held.keys():
        raise ValueError("a pickle must hold a dict with 'features' and 'labels'")
    return _as_bytes(np.asarray(held["features"])), np.asarray(held["labels"]).astype(np.int64)


def _as_bytes(features: np.ndarray[Any, np.dtype[Any]]) -> Bytes:
    """Bytes again, whether they were stored as such, as wider numbers or as signed bytes."""
    if features.dtype.kind not in "iu" or features.min() < -128 or features.max() > 255:
        raise ValueError(f"'features' must be bytes, but are {features.dtype}")
    return features.astype(np.uint8)  # -1 becomes 255, as it was before it was stored as int8
