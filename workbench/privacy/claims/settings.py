"""The stated setting of every claim, and the releases from which its proved bound follows."""

from dataclasses import dataclass

from workbench.privacy.accounting.stages import Stage
from workbench.privacy.claims.formulas import phase_1_distance

BATCHES = "batches of fixed size without replacement, drawn afresh"
POISSON = "Poisson batches, constant divisor"


@dataclass(frozen=True)
class TwoPhases:
    """dp-promise on 28x28 images: linear betas 1e-4..2e-2, T = 1000; the published MNIST setting by default."""

    num_dimensions: int = 784
    num_records: int = 60_000
    boundary: int = 900
    batch_size_1: int = 32
    steps_1: int = 5_625
    sample_rate_2: float = 1 / 15
    steps_2: int = 750
    noise_multiplier: float = 1.13

    @property
    def alphas_cumprod(self) -> float:
        """The cumulative product of 1 - beta at the boundary S."""
        import numpy as np

        return float(np.prod(1.0 - np.linspace(1e-4, 2e-2, 1000)[: self.boundary]))

    def terms(self) -> dict[str, float | int]:
        """The arguments of the paper's formula, delta left out."""
        names = ("num_dimensions", "num_records", "batch_size_1", "steps_1", "sample_rate_2", "steps_2", "noise_multiplier")
        return {name: getattr(self, name) for name in names} | {"alphas_cumprod": self.alphas_cumprod}

    def paper_stages(self) -> list[Stage]:
        """Phase I as printed, whose regression targets are not covered by the proof, and phase II."""
        from workbench.privacy.accounting.events import UnprovedDpEvent

        event = UnprovedDpEvent(PAPER_TARGETS, "refuted")
        return [Stage("phase I", event, "per_step", self.steps_1, sampling="Poisson batches"), self.phase_2()]

    def renoised_stages(self) -> list[Stage]:
        """Phase I on renoised targets and phase II."""
        from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent

        multiplier = 1 / phase_1_distance(self.num_dimensions, self.alphas_cumprod)
        event = FixedBatchGaussianDpEvent(self.num_records, self.batch_size_1, multiplier)
        stage = Stage("phase I", event, "per_step", self.steps_1, ("REPLACE_SPECIAL", "REPLACE_ONE"), BATCHES)
        return [stage, self.phase_2()]

    def one_shot_stages(self) -> list[Stage]:
        """Every record noised once and kept, and phase II."""
        from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent

        event = ReplaceOneGaussianDpEvent(1 / phase_1_distance(self.num_dimensions, self.alphas_cumprod), zero_out_ratio=0.5)
        return [Stage("one-shot release", event, "once", 1, ("REPLACE_SPECIAL", "REPLACE_ONE"), "every record once"), self.phase_2()]

    def phase_2(self) -> Stage:
        """DP-SGD on the small time steps."""
        return dp_sgd_stage(self.noise_multiplier, self.sample_rate_2, self.steps_2)


def dp_sgd_stage(noise_multiplier: float, sample_rate: float, steps: int) -> Stage:
    """Poisson batches, gradients clipped per record, division by the expected batch size."""
    from dp_accounting import dp_event

    event = dp_event.PoissonSampledDpEvent(sample_rate, dp_event.GaussianDpEvent(noise_multiplier))
    return Stage("DP-SGD", event, "per_step", steps, sampling=POISSON)


def gaussian_stage(noise_multiplier: float, steps: int) -> Stage:
    """Gaussian steps on all records, or on batches for which no amplification holds."""
    from dp_accounting import dp_event

    return Stage("noisy steps", dp_event.GaussianDpEvent(noise_multiplier), "per_step", steps, sampling="no amplification")


def embedding_stage(noise_multiplier: float, releases: int) -> Stage:
    """Gaussian releases of mean embeddings, the multiplier over the replace-one distance 2/n."""
    from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent

    event = ReplaceOneGaussianDpEvent(noise_multiplier, zero_out_ratio=0.5)
    return Stage("mean embedding", event, "per_step", releases, ("REPLACE_SPECIAL", "REPLACE_ONE"), "all records")


def unproved_stage(reason: str, refuted: bool = False) -> Stage:
    """A release without a finite epsilon."""
    from workbench.privacy.accounting.events import UnprovedDpEvent

    return Stage("training", UnprovedDpEvent(reason, "refuted" if refuted else "not_proved"), "once")


PAPER_TARGETS = (
    "The regression target of phase I is the noise that was added, and it gives the record back from the noised one. "
    "A single mean gradient of 32 images was shown to decide membership, so the steps that the proof analyses have no finite epsilon."
)
RANDOMISED_INDEX = (
    "The randomised response of a record is another record, verbatim. "
    "A data set without that record cannot produce it, so the triples have no finite epsilon; none is known for a network trained on them."
)
RANDOMISED_INDEX_AND_PAC = (
    "The randomised response of a record is another record, verbatim, so the triples have no finite epsilon and none is known for a "
    "network trained on them. "
    "The PAC noise bounds a mutual information, which is no epsilon, and only if the data are drawn anew for every output, which one "
    "trained model is not."
)
PRIVATE_THRESHOLD = (
    "Line 5 of the algorithm takes the clipping threshold from the private batch, so the scale of the noise depends on the records. "
    "Nothing bounds what that scale tells."
)
TEACHER = (
    "The teacher and the discriminator are trained on all private records and enter every gradient, so clipping one term bounds little. "
    "The chain rule of equation 17 multiplies the clipped part by a factor that depends on the private record and has no bound."
)
PER_INSTANCE = (
    "The guarantee is per instance: its delta depends on the other records of the table. "
    "There is no epsilon that holds for all tables; the values per record are in `workbench.privacy.not_dp.per_instance`."
)
NO_FORMULA = "Our notes hold no formula of this paper. Nothing is claimed or proved here in its place."
DATA_DEPENDENT = (
    "The analysis by aggregated teachers depends on the data, so its epsilon is itself private. Our notes hold no formula of it."
)
