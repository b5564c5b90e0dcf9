"""MP-FT, fine-tuning: train each task by the ELBO and protect nothing; the paper's lower bound."""

from mpnet.methods._base import METHODS
from mpnet.methods._variational import VARIATIONAL, VariationalMethod


@METHODS.register("ft")
class FineTuning(VariationalMethod):
    """The ELBO alone."""

    first_task = VARIATIONAL
