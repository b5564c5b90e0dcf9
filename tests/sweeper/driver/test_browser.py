"""The links that a sweep prints, opened in a browser: what a person sees of its trials."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from sweeper.ledger import Ledger
from sweeper.results.texts import short_value
from tests.sweeper.servers import Server
from tests.sweeper.sweeps import Command

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium (Debian: apt-get install chromium)"),
]


class Swept:
    """A finished sweep, and what it printed at its start and at its end."""

    def __init__(self, folder: Path, uri: str) -> None:
        self.command = Command(
            folder, "sweep.trials=2", "run.epochs=2", f"sweep.tracking_uri={uri}"
        )
        self.printed = self.command.run()

    def link(self, name: str) -> str:
        first, last = re.findall(rf"^{name}: +(\S+)$", self.printed, re.MULTILINE)
        assert first == last
        return str(first)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    folder = tmp_path_factory.mktemp("swept")
    server = Server(folder)
    server.start()
    try:
        yield Swept(folder, server.uri)
    finally:
        server.stop()


def seen(url: str, folder: Path) -> str:
    """The page as a browser has built it, after what takes it seconds."""
    assert CHROMIUM is not None
    words = [
        CHROMIUM,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=2600,1400",
    ]
    words += [f"--user-data-dir={folder}", "--virtual-time-budget=40000", "--dump-dom", url]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return unescape(done.stdout)


def texts(page: str) -> list[str]:
    """What is written on it, in order, without what a script or a style says."""
    page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return [text.strip() for text in re.findall(r">([^<>]+)<", page) if text.strip()]


def test_the_table_shows_numbers_parameters_and_the_terminal_s_trial_numbers(
    swept: Swept, tmp_path: Path
) -> None:
    found = texts(seen(swept.link("trials"), tmp_path))
    for column in ("rank", "ACC", "val/bwt", "val/mean_diagonal", "method.tau_max", "Duration"):
        assert column in found, column
    for trial in Ledger(swept.command.folder).trial_records():
        value = short_value(trial.values["method.tau_max"])
        assert f"{trial.number} ppbi tau_max={value}" in found
        for metric in ("acc", "bwt"):
            assert any(text.startswith(str(trial.metrics[metric])[:7]) for text in found)
        assert str(trial.values["method.tau_max"]) in found
    assert "sweep small" not in found  # its parent, which hides them


def test_the_charts_set_acc_against_the_parameter(swept: Swept, tmp_path: Path) -> None:
    found = texts(seen(swept.link("charts"), tmp_path))
    assert "method.tau_max vs. ACC" in found
    assert "Parallel Coordinates" in found


def test_the_report_leads_to_the_pages_of_its_trials(swept: Swept, tmp_path: Path) -> None:
    report = (swept.command.folder / "report.html").read_text()
    links = re.findall(r'<a href="([^"]+)" title="its run in MLflow">(\d+)</a>', report)
    assert len(links) == 2
    link, number = links[0]
    found = texts(seen(link, tmp_path))
    assert any(text.startswith(f"{number} ppbi tau_max=") for text in found)
    assert "ACC" in found
