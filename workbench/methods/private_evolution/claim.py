"""What Private Evolution claims."""

from workbench.methods.base import Reading
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "Lin et al. 2024 (Private Evolution), adaptive composition of Gaussian mechanisms"
READINGS = {
    "private-evolution": Reading(
        title="Private Evolution",
        preset="claim-1",
        formula="T histograms of sensitivity 1 with noise sigma are one Gaussian mechanism of noise sigma / sqrt(T)",
        notation={"selection.rounds": "T", "selection.noise_multiplier": "sigma"},
    )
}


def claimed(*, noise_multiplier: float, rounds: int, delta: float) -> PrivacyValue:
    """T Gaussian mechanisms of sensitivity 1, which is what one record more or less moves a histogram by; exactly GDP."""
    value = gaussian_releases(noise_multiplier, rounds, delta, SOURCE)
    return value.model_copy(update={"neighboring_relation": "ADD_OR_REMOVE_ONE"})
