"""Layers that move moments without changing them, and the sum of two paths."""

from torch import Tensor, nn

from mpnet.errors import InputError
from mpnet.layers.moment.moments import Moments, check_moments, describe


class Flatten(nn.Module):
    """Both moments reshaped alike; arguments as in torch.nn.Flatten."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.dims = (start_dim, end_dim)

    def forward(self, x: Tensor | Moments) -> Moments:
        """(batch, ...) to (batch, features)."""
        mean, var = check_moments(self, x)
        return Moments(mean.flatten(*self.dims), None if var is None else var.flatten(*self.dims))

    def extra_repr(self) -> str:
        """The dimensions, as torch.nn.Flatten shows them."""
        return f"start_dim={self.dims[0]}, end_dim={self.dims[1]}"


class Residual(nn.Module):
    """body(x) + shortcut(x), the two taken as independent; without a shortcut, body(x) + x."""

    def __init__(self, body: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.body = body
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: Tensor | Moments) -> Moments:
        """Any shape for which both paths end in the same one."""
        x = check_moments(self, x)
        body, shortcut = self.body(x), self.shortcut(x)
        if body.mean.shape != shortcut.mean.shape:
            raise InputError(
                f"{describe(self)}: both paths must end in one shape, "
                f"but got {tuple(body.mean.shape)} and {tuple(shortcut.mean.shape)}."
            )
        out: Moments = body + shortcut
        return out
