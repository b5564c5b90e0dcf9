"""UCB, uncertainty-guided continual Bayesian networks (Ebrahimi 2020)."""

import torch
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.methods._base import METHODS, NonNegative, Scales
from mpnet.methods.bbb import BayesByBackprop, Share
from mpnet.networks import Network


@METHODS.register("ucb")
class UncertaintyGuidedBayes(BayesByBackprop):
    """Bayes by backprop; from the second task on each mean takes sigma times its step.

    Sigma is that at the end of the last task and scales the update, whatever the optimiser. The
    sigmas themselves and the new head learn at the full rate. The released code differs from its
    paper (no gradient of the KL, new heads not trained, sigmas of the draw never updated); this is
    the paper.

    Args:
        network: of layers "sampled"; their number of samples is a hyper-parameter.
        tau: weight of the KL.
        log_sigma_wide: log sigma_1 of the prior.
        log_sigma_narrow: log sigma_2 of the prior.
        wide_share: pi, the weight of sigma_1 in the prior.
    """

    first_task = "ucb"

    step_sigma: Tensor

    def __init__(
        self,
        network: Network,
        *,
        tau: NonNegative = 1e-5,
        log_sigma_wide: float = 0.0,
        log_sigma_narrow: float = -6.0,
        wide_share: Share = 0.25,
    ) -> None:
        super().__init__(
            network,
            tau=tau,
            log_sigma_wide=log_sigma_wide,
            log_sigma_narrow=log_sigma_narrow,
            wide_share=wide_share,
        )
        # Kept apart from rho, which a resumed task has already moved.
        self.register_buffer("step_sigma", self._trunk_sigma())

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """Sigma for the means of the trunk, from the second task on."""
        if t == 0:
            return ()
        means = [member.mean for member in self.trunk()]
        parts = self.step_sigma.split([mean.numel() for mean in means])
        return [(mean, part.view_as(mean)) for mean, part in zip(means, parts, strict=True)]

    def end_task(self, t: int, examples: Examples) -> None:
        """Remember the sigmas that the next task starts from."""
        self.step_sigma.copy_(self._trunk_sigma())

    @torch.no_grad()
    def _trunk_sigma(self) -> Tensor:
        return torch.cat([member.sigma.flatten() for member in self.trunk()])
