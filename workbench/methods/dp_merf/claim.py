"""What DP-MERF claims."""

from workbench.methods.base import Reading
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.values import PrivacyValue

READINGS = {
    "dp-merf": Reading(
        title="DP-MERF",
        preset="claim-1",
        formula="analytic Gaussian mechanism at the replace-one sensitivity 2/n, noise_multiplier over it",
        notation={"num_records": "n", "noise_multiplier": ""},
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """One Gaussian mechanism on the mean embedding, noise over its replace-one sensitivity 2/n; exactly GDP."""
    return gaussian_releases(noise_multiplier, 1, delta, "Harder et al. 2021 (DP-MERF), analytic Gaussian mechanism")
