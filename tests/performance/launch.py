"""How long a sweep takes to its first training steps, against Ray's own start.

    python -m tests.performance.launch --rounds 3

Both in fresh processes, in turn, medians, from the start of the process: `bare_seconds` until Ray
runs here and a worker of it has answered; `ours_seconds` until the first epoch of the first trial
(digits: 36 steps, some tenths of a second) is reported to the driver. Prints a line for each round
and one JSON line; `above` is the difference (at most 5 wanted).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE = """
import logging, ray
ray.init(include_dashboard=False, logging_level=logging.CRITICAL)
ray.get(ray.remote(lambda: None).remote())
print("reached", flush=True)
"""
OURS = """
import sys
from sweeper import view
from sweeper.launch import main
def reported(self, number, metrics):
    print("reached", flush=True)
view.View.reported = reported
main(sys.argv[1:])
"""
FILE = "search_spaces/quickstart.yaml"


def seconds_until_reached(*command: str) -> float:
    """From the start of a process to its line; then it may end."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = next((line for line in process.stdout if line.strip() == "reached"), None)
    seconds = time.perf_counter() - start
    assert found, "it has ended before"
    process.stdout.read()
    process.wait()
    return seconds


def ours() -> float:
    """A sweep of one trial."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["sweep.trials=1", "sweep.concurrency=1", "select.top=0", "--output"]
        return seconds_until_reached(OURS, FILE, *options, str(Path(folder) / "sweep"))


def main() -> None:
    """Measure in turn, print medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    rounds = []
    for _ in range(parser.parse_args().rounds):
        rounds.append((seconds_until_reached(BARE), ours()))
        print("bare {:.1f} s, ours {:.1f} s".format(*rounds[-1]))
    bare, own = (statistics.median(column) for column in zip(*rounds, strict=True))
    figures = {"bare_seconds": bare, "ours_seconds": own, "above": own - bare}
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
