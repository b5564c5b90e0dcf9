"""Closed-form likelihoods of labels under the logits' moments: one term of the ELBO (Eq. 6).

Each maps logits (batch, classes) with diagonal variance, and labels (batch,), to the mean over the
batch of the negative log-likelihood. Nothing is sampled.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mpnet.errors import ConfigError, InputError
from mpnet.layers.moment.moments import Moments, check_moments, describe, is_validating
from mpnet.layers.moment.softmax import softmax_variance


class Likelihood(nn.Module, ABC):
    """The negative log-likelihood of labels; `anneal` moves what depends on training progress."""

    def anneal(self, progress: float | Tensor) -> None:  # noqa: B027 - most have nothing to anneal
        """Set what depends on how much of a task's training is done, 0 to 1."""

    def forward(self, logits: Moments, labels: Tensor) -> Tensor:
        """Mean negative log-likelihood over the batch."""
        logits = check_moments(self, logits)
        self._check_labels(logits.mean, labels)
        return self.per_example(logits, labels).mean()

    @abstractmethod
    def per_example(self, logits: Moments, labels: Tensor) -> Tensor:
        """(batch,) negative log-likelihoods."""

    def _check_labels(self, logits: Tensor, labels: Tensor) -> None:
        if logits.ndim != 2 or labels.shape != logits.shape[:1] or labels.dtype != torch.int64:
            raise InputError(
                f"{describe(self)}: logits must have shape (batch, classes) and labels be int64 "
                f"of shape (batch,), but got {tuple(logits.shape)} and {labels.dtype} of shape "
                f"{tuple(labels.shape)}."
            )
        if is_validating() and labels.numel():
            low, high = labels.aminmax()
            if low < 0 or high >= logits.shape[1]:
                raise InputError(
                    f"{describe(self)}: labels must lie in 0 ... {logits.shape[1] - 1}, "
                    f"but got {int(low)} ... {int(high)}."
                )


class ExpectedSoftmax(Likelihood):
    """E[log softmax(z)_y] >= mean_y - log sum_j exp(mean_j + var_j / 2) for Gaussian logits z.

    By Jensen's inequality, and exact at zero variance. Unlike the Gaussian of the paper its
    gradient never vanishes on a confident wrong answer.
    """

    def per_example(self, logits: Moments, labels: Tensor) -> Tensor:
        """(batch,) bounds."""
        mean, var = logits
        if var is None:
            return F.cross_entropy(mean, labels, reduction="none")
        of_label = mean.gather(1, labels.unsqueeze(1)).squeeze(1)
        return torch.logsumexp(mean + 0.5 * var, 1) - of_label


class TightSoftmax(Likelihood):
    """The tighter of two bounds of E[log softmax(z)_y], example by example.

    `ExpectedSoftmax` charges half the variance of the right logit however sure the answer is. The
    same inequality on the differences z_j - z_y, whose variances are var_j + var_y, charges next
    to nothing there, and more where classes compete. With a the log of the sum over j != y of
    exp(mean_j - mean_y + var_j / 2), the first is log(exp(var_y / 2) + exp(a)), the second is
    log(1 + exp(a + var_y / 2)), and the second is the smaller one exactly where a < 0.
    """

    def per_example(self, logits: Moments, labels: Tensor) -> Tensor:
        """(batch,) bounds."""
        mean, var = logits.mean, logits.dense_var
        rows = labels.unsqueeze(1)
        of_label, half = mean.gather(1, rows), 0.5 * var.gather(1, rows).squeeze(1)
        others = (mean - of_label + 0.5 * var).scatter(1, rows, -torch.inf)
        a = torch.logsumexp(others, 1)
        return a.relu() + F.softplus(half - a.abs())


class Gaussian(Likelihood):
    """The paper's: the one-hot label under N(p, Sigma), the softmax output's mean and covariance.

    Sigma = J diag(v) J^T is singular, so `jitter` times the identity is added before inverse and
    determinant. A wrong answer with a saturated softmax has gradient zero, and with a small jitter
    (1e-3 in the code that the paper builds on) a network can end up on such answers alone; a
    jitter of 0.1 and a warm-up of the learning rate have kept it alive.

    Args:
        jitter: the floor, at the end of training where it follows a schedule.
        jitter_start: the floor at the start of each task; None for no schedule.
        jitter_until: share of a task's training after which the floor is `jitter`.
        covariance: "full", or "diagonal" to leave out the covariances between classes.
    """

    def __init__(
        self,
        *,
        jitter: float = 0.1,
        jitter_start: float | None = None,
        jitter_until: float = 0.5,
        covariance: Literal["full", "diagonal"] = "full",
    ) -> None:
        start = jitter if jitter_start is None else jitter_start
        if not 0 < jitter <= start:
            raise ConfigError(
                f"Gaussian: 0 < jitter <= jitter_start must hold, but got {jitter} and {start}."
            )
        if not 0 < jitter_until <= 1:
            raise ConfigError(
                f"Gaussian: 0 < jitter_until <= 1 must hold, but got {jitter_until}."
            )
        if covariance not in ("full", "diagonal"):
            raise ConfigError(
                f"Gaussian: covariance must be 'full' or 'diagonal', but got {covariance!r}."
            )
        super().__init__()
        self.jitter_end, self.jitter_start, self.jitter_until = jitter, start, jitter_until
        self.covariance = covariance
        self.jitter: float | Tensor = start

    def anneal(self, progress: float | Tensor) -> None:
        """Move the floor geometrically from `jitter_start` to `jitter`."""
        start, end = math.log(self.jitter_start), math.log(self.jitter_end)
        if isinstance(progress, Tensor):
            done = (progress / self.jitter_until).clamp_max(1)
            self.jitter = ((1 - done) * start + done * end).exp()
        else:
            share = min(progress / self.jitter_until, 1.0)
            self.jitter = math.exp((1 - share) * start + share * end)

    def per_example(self, logits: Moments, labels: Tensor) -> Tensor:
        """(batch,) negative log-densities, the constant included."""
        p = logits.mean.softmax(1)
        error = F.one_hot(labels, p.shape[1]) - p
        by_covariance = full_nll if self.covariance == "full" else diagonal_nll
        return by_covariance(p, logits.dense_var, error, self.jitter)

    def extra_repr(self) -> str:
        """The settings."""
        floors = f"jitter={self.jitter_end}, jitter_start={self.jitter_start}"
        return f"{floors}, covariance={self.covariance!r}"


def full_nll(p: Tensor, var: Tensor, error: Tensor, jitter: float | Tensor) -> Tensor:
    """-log N(error; 0, J diag(var) J^T + jitter I) in O(N) per example; error sums to zero.

    The covariance is D + U C U^T with D = diag(a + jitter), a = p^2 var, U = [a, p], C = [[0, -1],
    [-1, sum a]], so inverse and determinant follow from a 2x2 matrix (Woodbury). Its entries, as
    usually written, are differences of nearly equal numbers when var is large; with sum p = 1 and
    sum error = 0 they become the sums of positive terms below, which is why single precision is
    enough.
    """
    a = p.square() * var
    d = a + jitter
    a_d = (a / d).sum(1)
    p_d = (p / d).sum(1)
    pp_d = (p.square() / d).sum(1)
    core = a_d * pp_d + jitter * p_d.square()
    log_jitter = jitter.log() if isinstance(jitter, Tensor) else math.log(jitter)
    log_determinant = d.log().sum(1) + log_jitter + core.log()
    e_d = (error / d).sum(1)
    pe_d = (p * error / d).sum(1)
    correction = jitter * e_d * (pp_d * e_d - 2 * p_d * pe_d) - a_d * pe_d.square()
    mahalanobis = (error.square() / d).sum(1) + correction / core
    return 0.5 * (mahalanobis + log_determinant + p.shape[1] * math.log(2 * math.pi))


def diagonal_nll(p: Tensor, var: Tensor, error: Tensor, jitter: float | Tensor) -> Tensor:
    """-log N(error; 0, diag(J diag(var) J^T) + jitter I)."""
    d = softmax_variance(p, var) + jitter
    return 0.5 * (error.square() / d + d.log() + math.log(2 * math.pi)).sum(1)
