"""What DP-MERF claims."""

import math

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


def claimed(*, noise_multiplier: float, delta: float, counts_noise: float = math.inf) -> PrivacyValue:
    """One Gaussian mechanism on the mean embedding, noise over its replace-one sensitivity 2/n; exactly GDP.

    `counts_noise` is that of each class's count, two of which a record in another's place moves by one; infinite where none are released.
    """
    if math.isfinite(counts_noise):
        noise_multiplier = (noise_multiplier**-2 + 2.0 / counts_noise**2) ** -0.5
    return gaussian_releases(noise_multiplier, 1, delta, "Harder et al. 2021 (DP-MERF), analytic Gaussian mechanism")
