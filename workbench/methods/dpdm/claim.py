"""What DPDM claims: the RDP of DP-SGD."""

from workbench.methods.base import Reading
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "Dockhorn et al. 2023 (DPDM)"
FORMULA = "RDP of the Poisson-sampled Gaussian over all steps: rate m/n, noise multiplier sigma, N steps"
NOTATION = {"num_records": "n", "training.batch_size": "m", "training.noise_multiplier": "sigma", "training.steps": "N"}
READINGS = {"dpdm": Reading("DPDM: DP-SGD on a diffusion model", "published", FORMULA, NOTATION)}


def claimed(*, noise_multiplier: float, sample_rate: float, steps: int, delta: float) -> PrivacyValue:
    """Epsilon of `steps` Poisson batches at `sample_rate` by RDP, an upper bound; K noise samples a record cost nothing."""
    return poisson_gaussian_rdp(noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, delta=delta, source=SOURCE)
