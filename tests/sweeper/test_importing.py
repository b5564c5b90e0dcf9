"""The search for garbage rests during imports, and goes on after them."""

import gc

import pytest

from sweeper.importing import importing


def test_garbage_is_looked_for_again_after_imports_within_imports_and_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ImportError), importing():
        with importing():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
