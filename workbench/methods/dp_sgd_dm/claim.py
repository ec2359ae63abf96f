"""What the paper states of DP-SGD: the central limit of its phase two, here of the whole training."""

from workbench.methods.base import Reading
from workbench.methods.dp_promise import claim as dp_promise
from workbench.privacy.accounting.values import PrivacyValue

FORMULA = "mu = (m/n) sqrt(N (e^(1/sigma^2) - 1))"
NOTATION = {"num_records": "n", "training.batch_size": "m", "training.steps": "N", "training.noise_multiplier": "sigma"}
READINGS = {"dp-sgd-dm": Reading("DP-SGD on a diffusion model after public pre-training", "published", FORMULA, NOTATION)}


def claimed(*, sample_rate: float, steps: int, noise_multiplier: float, delta: float) -> PrivacyValue:
    """Lemma 5: mu = (m/n) sqrt(N (exp(1/sigma^2) - 1)), converted to (epsilon, delta); `sample_rate` is m/n, `steps` N."""
    both_phases = dp_promise.claimed(
        num_dimensions=0,
        num_records=1,
        alphas_cumprod=0.0,
        batch_size_1=0,
        steps_1=0,
        sample_rate_2=sample_rate,
        steps_2=steps,
        noise_multiplier=noise_multiplier,
        delta=delta,
    )
    told = {"reason": "A central-limit value is not a bound.", "source": "Wang et al. 2024 (dp-promise), Lemma 5, of its baseline"}
    return both_phases.model_copy(update=told)
