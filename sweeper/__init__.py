"""Sweeps over continual-learning methods: Ray Tune drives Optuna, MLflow shows it.

    import sweeper

    sweep = sweeper.load_sweep("search_spaces/quickstart.yaml", ["sweep.trials=4"])
    found = sweeper.launch(sweep, output="sweeps/mine")
    found.trials()      # a pandas DataFrame, one row per trial
    found.R(found.best.number)

Nothing heavy is imported before it is needed.
"""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.errors import SweepError

if TYPE_CHECKING:
    from rich.console import Console

    from sweeper.config.sweep import Sweep
    from sweeper.recorded import RecordedSweep

__all__ = ["SweepError", "__version__", "launch", "load_sweep", "open_sweep"]
__version__ = version("mpnet")


def load_sweep(path: str | Path, overrides: list[str] | None = None) -> "Sweep":
    """Read a YAML file with the blocks run, space, sweep and select.

    Args:
        path: of the file.
        overrides: as on the command line, such as "run.epochs=5".

    Raises:
        SweepError: with one line per fault.

    Example:
        >>> import sweeper
        >>> sweep = sweeper.load_sweep("search_spaces/quickstart.yaml", ["sweep.trials=4"])
        >>> sweep.n_trials
        4
    """
    from sweeper.config.sweep import load_sweep as load

    return load(Path(path), overrides or [])


def launch(
    sweep: "Sweep",
    output: str | Path,
    *,
    resume: bool = False,
    address: str | None = None,
    console: "Console | None" = None,
) -> "RecordedSweep":
    """Search, rerun the best on the test sets, report; gives what came of it.

    Args:
        sweep: as `load_sweep` gives it.
        output: a folder of its own.
        resume: go on with what was begun there.
        address: of a Ray cluster; None for this machine alone.
        console: for the plan and the live view; by default the terminal.

    Raises:
        SweepError: something stands in the way, or the sweep was interrupted.

    Example:
        >>> import sweeper
        >>> sweep = sweeper.load_sweep("search_spaces/quickstart.yaml", ["sweep.trials=4"])
        >>> found = sweeper.launch(sweep, "sweeps/mine")  # doctest: +SKIP
        >>> found.best.metrics["acc"]  # doctest: +SKIP
        0.99
    """
    from rich.console import Console

    from sweeper.driver.launching import launch as run
    from sweeper.driver.preparation import Options
    from sweeper.errors import INTERRUPTED

    command = f"sweeper.launch(..., {str(output)!r})"
    options = Options(Path(output), command, resume=resume, address=address)
    if run([sweep], options, console or Console(markup=False, emoji=False)) == INTERRUPTED:
        raise SweepError(f"{output}: the sweep was interrupted; resume=True goes on with it.")
    return open_sweep(output)


def open_sweep(folder: str | Path) -> "RecordedSweep":
    """What is known of a sweep, while it runs or after it.

    Raises:
        SweepError: no sweep has begun in this folder.

    Example:
        >>> import sweeper
        >>> found = sweeper.open_sweep("sweeps/mine")  # doctest: +SKIP
        >>> found.trials()[["number", "state", "acc"]]  # doctest: +SKIP
    """
    from sweeper.recorded import RecordedSweep

    return RecordedSweep(Path(folder))
