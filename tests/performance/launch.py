"""How long a sweep takes to its first training steps, against Ray's own start.

    python -m tests.performance.launch --rounds 3

All in fresh processes, in turn, medians, from the start of the process:

    empty_seconds     until Ray runs here and an empty worker of it has answered
    training_seconds  until Ray runs here and a worker of it has imported PyTorch and Tune
    ours_seconds      until the first epoch of the first trial (digits: 36 steps, some tenths of a
                      second) is reported to the driver

Prints a line for each round and one JSON line with the medians and what ours is above the others:
at most 5 s above a worker that can train is wanted. Python may keep bytecode, as it does by
default, and one round that does not count has made it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE = """
import logging, ray
ray.init(include_dashboard=False, logging_level=logging.CRITICAL)
def start():
    {body}
ray.get(ray.remote(start).remote())
print("reached", flush=True)
"""
EMPTY, TRAINING = (BARE.format(body=body) for body in ("pass", "import torch, ray.tune"))
OURS = """
import sys
from sweeper.commands.launch import main
from sweeper.driver import view
def reported(self, assignment, metrics):
    print("reached", flush=True)
view.View.reported = reported
main(sys.argv[1:])
"""
FILE = "search_spaces/quickstart.yaml"


def seconds_until_reached(*command: str) -> float:
    """From the start of a process to its line; then it may end."""
    start = time.perf_counter()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True, env=environment
    )
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
    ours()
    rounds = []
    for _ in range(parser.parse_args().rounds):
        seconds = [seconds_until_reached(EMPTY), seconds_until_reached(TRAINING), ours()]
        print("empty {:.1f} s, training {:.1f} s, ours {:.1f} s".format(*seconds), flush=True)
        rounds.append(seconds)
    empty, training, own = (statistics.median(column) for column in zip(*rounds, strict=True))
    figures = {"empty_seconds": empty, "training_seconds": training, "ours_seconds": own}
    figures |= {"above_empty": own - empty, "above_training": own - training}
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
