"""How a target is split: the votes take their share of mu^2, calibration leaves the rest to the refinement."""

import math

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.fields import with_values
from workbench.methods.selective_pretraining.config import SelectivePretrainingConfig
from workbench.privacy import proved_bound
from workbench.privacy.accounting.gaussian import gdp_mu


def with_votes(config: SelectivePretrainingConfig, facts: DatasetFacts, epsilon: float, delta: float) -> SelectivePretrainingConfig:
    """The configuration with a noise of the votes: its own, or sqrt(T / share) / mu of T rounds, mu that of the whole target.

    T votes of distance 1 are one Gaussian mechanism of mu sqrt(T) / noise (Dong, Roth and Su 2022, Corollary 3.3), so the share is
    exact; what the refinement may spend beside them is found by the bound of both. Refuses a noise of its own with which the votes
    alone exceed `epsilon`.
    """
    selection = config.selection
    fitting = math.sqrt(selection.rounds / config.selection_share) / gdp_mu(epsilon, delta)
    if selection.noise_multiplier is None:
        return with_values(config, {"selection.noise_multiplier": fitting})
    spent = proved_bound([selection.vote_stage(facts)], delta).epsilon
    if spent >= epsilon:
        raise WorkbenchError(
            f"Expected the votes to leave something of epsilon {epsilon:g}, but at selection.noise_multiplier "
            f"{selection.noise_multiplier:g} they alone reach {spent:.4g} at delta {delta:.3g}. Their share, {config.selection_share:g} of "
            f"mu^2, is kept by selection.noise_multiplier={fitting:.4g}."
        )
    return config
