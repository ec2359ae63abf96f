"""How a target is split where private records first vote for public images: they take a share of mu^2, calibration leaves the rest."""

import math
from typing import TypeVar

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import MethodConfig
from workbench.methods.fields import value_at, with_values
from workbench.models.selection.config import Selection
from workbench.privacy import proved_bound
from workbench.privacy.accounting.gaussian import gdp_mu

ConfigT = TypeVar("ConfigT", bound=MethodConfig)


def fitted(config: ConfigT, name: str, share: float, facts: DatasetFacts, epsilon: float, delta: float) -> ConfigT:
    """The configuration with a noise of the selection called `name`: its own, or sqrt(T / share) / mu of T rounds, mu the target's.

    T votes of distance 1 are one Gaussian mechanism of mu sqrt(T) / noise (Dong, Roth and Su 2022, Corollary 3.3), so the share is
    exact; what follows may spend what the bound of both leaves. Refuses a noise of its own with which the votes alone exceed `epsilon`.
    """
    selection: Selection = value_at(config, name)
    fitting = math.sqrt(selection.rounds / share) / gdp_mu(epsilon, delta)
    if selection.noise_multiplier is None:
        return with_values(config, {f"{name}.noise_multiplier": fitting})
    spent = proved_bound([selection.vote_stage(facts)], delta).epsilon
    if spent >= epsilon:
        raise WorkbenchError(
            f"Expected the votes to leave something of epsilon {epsilon:g}, but at {name}.noise_multiplier "
            f"{selection.noise_multiplier:g} they alone reach {spent:.4g} at delta {delta:.3g}. Their share, {share:g} of mu^2, is kept by "
            f"{name}.noise_multiplier={fitting:.4g}."
        )
    return config
