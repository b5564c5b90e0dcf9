"""`python -m sweeper.report`, the same as `sweeper report`."""

import sys

from sweeper.commands.report import main

if __name__ == "__main__":
    sys.exit(main(prog="python -m sweeper.report"))
