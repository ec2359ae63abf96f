"""The whole privacy profile of a composition: epsilon at many deltas, by every accountant, and the mu of Gaussian DP beside them."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workbench.errors import RefusedError
from workbench.privacy.accounting.accountants import ACCOUNTANTS, gdp
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import accountant_values, proved_bound, shared_relation
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.privacy.accounting.sampler import sampler_distance
from workbench.privacy.accounting.stages import Stage, compose

DELTAS = tuple(10.0**-power for power in range(1, 11))


class ProfilePoint(BaseModel):
    """Epsilon at one delta: the proved bound, every accountant's value (None where it refuses), and the mu that gives the bound.

    `mu`: of the Gaussian mechanism whose epsilon at this delta is the bound; None where the bound is infinite or zero.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    delta: float
    bound: float
    accountants: dict[str, float | None]
    mu: float | None


class PrivacyProfile(BaseModel):
    """Points with falling delta, and mu of the whole composition by the GDP accountant: exact, or a central limit, which is no bound.

    An epsilon alone hides the profile: mechanisms with equal (epsilon, delta) can differ at every other delta (Kaissis et al. 2024).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    relation: str
    points: tuple[ProfilePoint, ...]
    mu: float | None
    mu_is: Literal["exact", "approximation", "none"]
    mu_reason: str = ""


def privacy_profile(stages: Sequence[Stage], delta: float) -> PrivacyProfile:
    """The profile of all stages together, with a point at `delta` among those at `DELTAS`."""
    deltas = sorted({*DELTAS, delta}, reverse=True)
    try:
        relation: str = shared_relation(stages)
    except RefusedError:
        relation = ""
    mu, kind, reason = _mu(stages)
    return PrivacyProfile(relation=relation, points=tuple(_point(stages, at) for at in deltas), mu=mu, mu_is=kind, mu_reason=reason)


def _point(stages: Sequence[Stage], delta: float) -> ProfilePoint:
    bound = proved_bound(stages, delta).epsilon
    values = accountant_values(stages, delta) if stages else {}
    by_accountant = {name: value if isinstance(value := values.get(name), float) else None for name in ACCOUNTANTS}
    mu = gdp_mu(bound, delta) if 0 < bound < float("inf") else None
    return ProfilePoint(delta=delta, bound=bound, accountants=by_accountant, mu=mu)


def _mu(stages: Sequence[Stage]) -> tuple[float | None, Literal["exact", "approximation", "none"], str]:
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
        mu = gdp.total_mu(composition)
    except RefusedError as error:
        return None, "none", str(error)
    if mu == float("inf"):
        return None, "none", "The composition has no finite mu."
    if not gdp.is_exact(composition):
        return mu, "approximation", "A central limit: it may tell less than is lost."
    if sampler_distance(stages) > 0:
        return mu, "exact", "Exact for the ideal noise; what is drawn differs from it by the distance that the bound pays for."
    return mu, "exact", ""
