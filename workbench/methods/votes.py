"""How a target is split where Gaussian releases in rounds, as votes, come first: a share of mu^2 is theirs, calibration leaves the rest."""

import math
from typing import Protocol, TypeVar

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import MethodConfig
from workbench.methods.fields import value_at, with_values
from workbench.privacy import proved_bound
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.privacy.accounting.stages import Stage

ConfigT = TypeVar("ConfigT", bound=MethodConfig)


class Rounds(Protocol):
    """Settings of Gaussian releases to which a record adds a vector of norm 1, such as votes."""

    @property
    def rounds(self) -> int: ...
    @property
    def noise_multiplier(self) -> float | None: ...
    def round_stage(self, facts: DatasetFacts) -> Stage: ...


def with_vote_noise(config: ConfigT, name: str, share: float, facts: DatasetFacts, epsilon: float, delta: float) -> ConfigT:
    """The configuration with a noise of the rounds called `name`: their own, or sqrt(T / share) / mu of T rounds, mu the target's.

    T rounds of distance 1 are one Gaussian mechanism of mu sqrt(T) / noise (Dong, Roth and Su 2022, Corollary 3.3), so the share is
    exact; what follows may spend what the bound of both leaves. Refuses a noise of their own with which they alone exceed `epsilon`.
    """
    rounds: Rounds = value_at(config, name)
    fitting = math.sqrt(rounds.rounds / share) / gdp_mu(epsilon, delta)
    if rounds.noise_multiplier is None:
        return with_values(config, {f"{name}.noise_multiplier": fitting})
    spent = proved_bound([rounds.round_stage(facts)], delta).epsilon
    if spent >= epsilon:
        raise WorkbenchError(
            f"Expected {name} to leave something of epsilon {epsilon:g}, but at {name}.noise_multiplier "
            f"{rounds.noise_multiplier:g} its rounds alone reach {spent:.4g} at delta {delta:.3g}. Their share, {share:g} of mu^2, is "
            f"kept by {name}.noise_multiplier={fitting:.4g}."
        )
    return config
