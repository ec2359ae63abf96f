"""What Tab-PE claims."""

from workbench.methods.base import Reading
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "Tab-PE 2026 (arXiv 2606.08259), the analytic Gaussian mechanism over all rounds"
READINGS = {
    "tab-pe": Reading(
        title="Tab-PE",
        preset="claim-1",
        formula="T histograms of sensitivity 1 with noise sigma are one Gaussian mechanism of noise sigma / sqrt(T)",
        notation={"rounds": "T", "noise_multiplier": "sigma"},
        dataset="breast-cancer",
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """A Gaussian mechanism of sensitivity 1, which is what one record more or less moves all histograms together by, in noise of one."""
    value = gaussian_releases(noise_multiplier, 1, delta, SOURCE)
    return value.model_copy(update={"neighboring_relation": "ADD_OR_REMOVE_ONE"})
