"""What a user of the sweep service can cause or meet."""

INTERRUPTED = 130  # the exit code that shells give to what Ctrl-C has ended


class SweepError(ValueError):
    """A sweep that cannot be run as asked, with every fault found, one per line."""
