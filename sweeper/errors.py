"""What a user of the sweep service can cause or meet."""


class SweepError(ValueError):
    """A sweep that cannot be run as asked, with every fault found, one per line."""
