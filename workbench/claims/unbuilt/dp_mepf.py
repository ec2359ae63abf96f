"""DP-MEPF (Harder et al. 2023): Gaussian releases of the first and second moments of public features."""

from workbench.claims.unbuilt.bare import BareClaim
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

RELEASES = 2
NOISE_MULTIPLIER = 5.2759


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """Two Gaussian mechanisms, on the first and second moments of public features, each relative to 2/n."""
    return gaussian_releases(noise_multiplier, RELEASES, delta, "Harder et al. 2023 (DP-MEPF), analytic Gaussian mechanism")


def stages() -> list[Stage]:
    """Both moments, the multiplier over the replace-one distance 2/n."""
    event = ReplaceOneGaussianDpEvent(NOISE_MULTIPLIER, zero_out_ratio=0.5)
    return [Stage("mean embedding", event, "per_step", RELEASES, ("REPLACE_SPECIAL", "REPLACE_ONE"), "all records")]


CLAIM = BareClaim(
    title="DP-MEPF",
    source="Harder et al. 2023 (DP-MEPF)",
    reason="Every record adds a vector of norm 1/n, so replacing one moves the mean by at most 2/n. "
    "The generator sees only the noisy mean.",
    formula="analytic Gaussian mechanism at the replace-one sensitivity 2/n",
    where="MNIST",
    claimed=claimed,
    arguments={"noise_multiplier": NOISE_MULTIPLIER},
    beside={"releases": RELEASES},
    stages=stages,
)
