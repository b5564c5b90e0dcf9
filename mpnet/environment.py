"""What a result was made with: versions, commit, machine."""

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("torch", "ray", "optuna", "mlflow", "numpy")


@cache
def environment() -> dict[str, str]:
    """The commit, the versions of the packages that matter and this machine, by label."""
    return {
        "commit": _commit(),
        "python": sys.version.split()[0],
        **{package: version(package) for package in PACKAGES},
        "machine": f"{platform.platform()}, CPUs: {os.cpu_count()}",
    }


def _commit() -> str:
    """The commit of the code, with -dirty if it has changed since; an image has it in a file."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    here = Path(__file__).parent
    if (here / "COMMIT").exists():
        return (here / "COMMIT").read_text().strip()
    try:
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown: not a git checkout"
    return done.stdout.strip()
