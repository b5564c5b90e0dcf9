"""Search over a YAML file: `python -m sweeper.launch search_spaces/quickstart.yaml`."""

import os
import signal
import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # A plain script: `ray submit` copies this one file to the head node's home and runs it there.
    # Go on as the module, in the folder of the project and, if it was copied, on the cluster.
    here = Path(__file__).resolve().parents[1]
    places = [here, Path(os.environ.get("MPNET_HOME", "~/mpnet")).expanduser()]
    root = next((place for place in places if (place / "sweeper" / "launch.py").is_file()), None)
    if root is None:
        print(
            f"launch.py: the project must be in {places[1]}, but is not; set MPNET_HOME.",
            file=sys.stderr,
        )
        sys.exit(2)
    if root != here:
        os.environ.setdefault("RAY_ADDRESS", "auto")
        os.environ.setdefault("MPNET_LAUNCH", "ray submit docker/cluster.yaml sweeper/launch.py")
    os.chdir(root)
    os.execv(sys.executable, [sys.executable, "-m", "sweeper.launch", *sys.argv[1:]])

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of the first imports
    from sweeper.commands.launch import main

    sys.exit(main(sys.argv[1:], "python -m sweeper.launch"))
