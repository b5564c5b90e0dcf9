"""The errors a user can cause or meet; everything else is a bug."""


class ConfigError(ValueError):
    """A configuration that cannot be run, with every fault found in it."""


class DataMissing(FileNotFoundError):
    """A data set that is not where it is expected."""


class InputError(ValueError):
    """A tensor that a layer or a likelihood cannot take: which one, what must hold, what came."""


class CheckpointError(RuntimeError):
    """A checkpoint that is damaged or belongs to another run."""


class Diverged(ArithmeticError):
    """Training left the finite numbers."""

    def __init__(self, task: int, epoch: int) -> None:
        super().__init__(
            f"task {task + 1}, epoch {epoch + 1}: the loss must stay finite, but became NaN or "
            "infinite; try a smaller learning rate, a longer warm-up or likelihood "
            "'expected_softmax'."
        )
        self.task = task
        self.epoch = epoch


class Dead(ArithmeticError):
    """Training has come to rest on wrong answers: the likelihood gives no gradient any more."""

    def __init__(self, task: int, epoch: int) -> None:
        super().__init__(
            f"task {task + 1}, epoch {epoch + 1}: the likelihood must give a gradient, but there "
            "was none for a whole epoch; try a longer warm-up, a larger jitter or likelihood "
            "'expected_softmax'."
        )
        self.task = task
        self.epoch = epoch
