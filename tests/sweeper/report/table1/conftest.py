"""The files of a table, made once."""

import pytest

from sweeper.report.table1.writing import files
from tests.sweeper.report.table1.forms import TABLE


@pytest.fixture(scope="session")
def forms() -> dict[str, str]:
    return files(TABLE)
