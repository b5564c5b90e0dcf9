"""The kind of method that trains plain layers by the cross-entropy alone."""

from mpnet.methods._base import Method


class PlainMethod(Method):
    """Adds nothing to the loss."""

    family = "plain"

    def add_penalty_gradient(self, t: int) -> None:
        """There is none."""
