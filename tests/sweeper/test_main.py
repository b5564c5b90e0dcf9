"""`python -m sweeper`."""

import subprocess
import sys
from pathlib import Path


def test_the_module_is_the_script(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sweeper", "status", str(tmp_path)], capture_output=True, text=True
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
