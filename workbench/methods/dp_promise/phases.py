"""Hyper-parameters of dp-promise and what follows from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from dp_accounting import dp_event
from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_schedule
from workbench.errors import WorkbenchError
from workbench.methods.base import MethodConfig, Reading, Target
from workbench.methods.fields import with_values
from workbench.methods.pretrained import GuidedDiffusion, PublicStart
from workbench.models.settings import PRETRAINING, check_model, pretraining_stages
from workbench.privacy import proved_bound
from workbench.privacy.accounting import calibration
from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent, ReplaceOneGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.grid import Grid
from workbench.training.ordinary import OrdinaryTraining, Schedule, check_batch_size
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.training.randomness import Randomness


class PhaseOne(OrdinaryTraining):
    """Steps on noised records."""

    switches: ClassVar[Switches] = {"steps": (0,)}

    steps: int = Field(default=100, ge=0, description="Steps of phase one; 0 leaves it out.")
    batch_size: int = Field(default=16, ge=1, description="Records in a phase-one batch, drawn without replacement.")
    learning_rate: float = Field(default=3e-4, ge=1e-9, le=1e3, description="Adam's learning rate in phase one.")
    schedule: Schedule = Field(default="constant", description="How the learning rate falls over the steps.")
    draws: int = Field(default=8, ge=1, description="Time steps trained per renoised release; further draws are free.")
    share: float = Field(default=0.1, ge=1e-4, le=0.9999, description="Part of the target epsilon that phase one alone may reach.")

    @property
    def rows(self) -> float:
        """The time steps of each record of a batch."""
        return self.batch_size * self.draws


class PhaseTwo(DPSGD):
    """DP-SGD on the time steps up to the boundary."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")
    trained: Literal["all", "up"] = Field(default="all", description="Layers that these steps train: all, or the U-Net's way up alone.")


class Boundary(MethodConfig):
    """Where the phases meet, and what the first one learns; None stands for what calibration finds."""

    boundary: int | None = Field(
        default=None, ge=1, description="Time step S between the phases; empty takes the smallest whose phase-one bound fits its share."
    )
    targets: Literal["renoised", "one-shot", "paper"] = Field(
        default="renoised",
        description="Regression target of phase one: renoised releases have a proof, and so has a single noised copy of every record "
        "(one-shot); the paper's targets have none.",
    )
    conditional: bool = Field(
        default=True, description="Train with labels and draw by them; otherwise no stage reads a label, and no sample has one."
    )


class Phases(PublicStart, Boundary):
    """The two phases after whatever is public."""

    phase_one: PhaseOne = PhaseOne()
    phase_two: PhaseTwo = PhaseTwo()


class DPPromiseConfig(GuidedDiffusion, Phases):
    """Hyper-parameters of dp-promise."""

    @property
    def last_private_timestep(self) -> int:
        """S, the boundary between the phases; without phase one, phase two has all time steps."""
        if not self.phase_one.steps:
            return self.diffusion.timesteps
        if self.boundary is None:
            raise WorkbenchError("Expected a boundary between the phases: give one, or an epsilon to choose it by.")
        if self.boundary >= self.diffusion.timesteps:
            raise WorkbenchError(f"Expected a boundary below the {self.diffusion.timesteps} time steps, got {self.boundary}.")
        return self.boundary


FORMULA = (
    "mu = sqrt(mu1^2 + mu2^2), mu1 = (m1/n) sqrt(N1 (e^(4 d abar/(1-abar)) - 1)), mu2 = (m2/n) sqrt(N2 (e^(1/sigma^2) - 1)), "
    "abar that of time step S"
)
NOTATION = {
    "dimensions": "d",
    "num_records": "n",
    "boundary": "S",
    "phase_one.batch_size": "m1",
    "phase_one.steps": "N1",
    "phase_two.batch_size": "m2",
    "phase_two.steps": "N2",
    "phase_two.noise_multiplier": "sigma",
}
READINGS = {
    "dp-promise": Reading("dp-promise with the paper's regression targets", "published", FORMULA, NOTATION),
    "dp-promise-renoised": Reading("dp-promise with renoised targets", "published-renoised", FORMULA, NOTATION),
    "dp-promise-one-shot": Reading("dp-promise with one noised copy of every record", "published-one-shot", FORMULA, NOTATION),
}


def claimed(
    *,
    num_dimensions: int,
    num_records: int,
    alphas_cumprod: float,
    batch_size_1: int,
    steps_1: int,
    sample_rate_2: float,
    steps_2: int,
    noise_multiplier: float,
    delta: float,
) -> PrivacyValue:
    """Theorem 2: the central-limit GDP of both phases, converted to (epsilon, delta).

    `num_dimensions` d of an image in [-1, 1]^d; `alphas_cumprod` its value at the boundary S; m1 = batch_size_1,
    N1 = steps_1; sample_rate_2 = m2/n (or the realised rate), N2 = steps_2. mu = sqrt(mu_1^2 + mu_2^2) with
    mu_1 = (m1/n) sqrt(N1 (exp(4 d abar/(1-abar)) - 1)) and mu_2 = (m2/n) sqrt(N2 (exp(1/sigma^2) - 1)).
    """
    mu_1 = phase_one_mu(num_dimensions, num_records, alphas_cumprod, batch_size_1, steps_1)
    mu_2 = sample_rate_2 * math.sqrt(steps_2 * _expm1(inverse_square(noise_multiplier))) if steps_2 * sample_rate_2 else 0.0
    return PrivacyValue(
        epsilon=gdp_epsilon(math.hypot(mu_1, mu_2), delta),
        delta=delta,
        status="approximation",
        accountant="GDP, central limit",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="Poisson, as printed",
        reason="A central-limit value is not a bound. Phase I is analysed as if only the noised image entered its gradient.",
        source="Wang et al. 2024 (dp-promise), Lemmas 4 and 5, Theorem 2",
    )


def claimed_phase_one(
    *, num_dimensions: int, num_records: int, alphas_cumprod: float, batch_size_1: int, steps_1: int, delta: float
) -> float:
    """Epsilon of the printed mu of phase I alone (Lemma 4)."""
    return gdp_epsilon(phase_one_mu(num_dimensions, num_records, alphas_cumprod, batch_size_1, steps_1), delta)


def phase_one_mu(num_dimensions: int, num_records: int, alphas_cumprod: float, batch_size_1: int, steps_1: int) -> float:
    """The printed mu of phase I (Lemma 4); its distance is 2 sqrt(d abar/(1-abar)) of one image to another."""
    if not 0.0 <= alphas_cumprod < 1.0:
        raise WorkbenchError(f"Expected alphas_cumprod in [0, 1), got {alphas_cumprod}.")
    if batch_size_1 * steps_1 == 0:
        return 0.0
    distance = phase_one_distance(num_dimensions, alphas_cumprod)
    return batch_size_1 / num_records * math.sqrt(steps_1 * _expm1(distance**2))


def phase_one_distance(num_dimensions: int, alphas_cumprod: float) -> float:
    """mu = 2 sqrt(d abar/(1-abar)): the replace-one distance of a noised image of [-1, 1]^d in standard deviations."""
    return 2.0 * math.sqrt(num_dimensions * alphas_cumprod / (1.0 - alphas_cumprod))


def _expm1(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700 else math.inf


PHASE_ONE, RELEASE = "phase one", "one-shot release"
REFUTED = (
    "The paper's regression target in phase one, the noise itself, gives the record away together with the noised image: one "
    "mean gradient of a linear network decides membership exactly. Post-processing covers the noised image "
    "alone (docs/proofs.md, section 3)."
)


def stage(config: DPPromiseConfig, facts: DatasetFacts) -> Stage:
    """What phase one pays for: a batch of records under the noise at the boundary a step, or worse (paper), or all once (one-shot)."""
    check_batch_size(PHASE_ONE, config.phase_one.batch_size, facts.num_records)
    if config.targets == "paper":
        event = UnprovedDpEvent(REFUTED, "refuted")
        return Stage(
            PHASE_ONE, event, "per_step", config.phase_one.steps, sampling="Poisson batches", reason=REFUTED, rows=config.phase_one.rows
        )
    distance = phase_one_distance(facts.dimensions, alpha_at_boundary(config))
    if distance < 1e-6:
        raise WorkbenchError(
            f"Nothing of a record is left at boundary {config.last_private_timestep}, so phase one learns nothing. Choose a smaller one."
        )
    noise_multiplier = 1.0 / distance
    if config.targets == "one-shot":
        return one_shot_stage(noise_multiplier, facts)
    event = FixedBatchGaussianDpEvent(facts.num_records, config.phase_one.batch_size, noise_multiplier)
    return Stage(
        PHASE_ONE,
        event,
        "per_step",
        config.phase_one.steps,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="fixed-size batches without replacement, drawn afresh at every step, unordered, without index or label",
        reason="Renoised targets: each step is post-processing of noised records (docs/proofs.md, section 4).",
        rows=config.phase_one.rows,
    )


def one_shot_stage(noise_multiplier: float, facts: DatasetFacts) -> Stage:
    """Every record's copy under the forward process's noise at the boundary, made once; a null record's image is zero."""
    return Stage(
        RELEASE,
        ReplaceOneGaussianDpEvent(noise_multiplier, zero_out_ratio=0.5),
        "once",
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="every record, once",
        reason="One-shot targets: every record is noised once, and phase one sees these copies alone (docs/proofs.md, section 4).",
    )


def noised_images(config: DPPromiseConfig, images: np.ndarray, randomness: Randomness, purpose: str, step: int) -> np.ndarray:
    """y = sqrt(abar_S) x + sqrt(1 - abar_S) zeta of images (B, d) in [-1, 1], float64 (B, d), on a grid, each by itself."""
    alpha = alpha_at_boundary(config)
    grid = Grid(deviation=math.sqrt(1 - alpha), max_norm=math.sqrt(alpha * images.shape[1]), num_records=1)
    return randomness.release(purpose, step, grid.truncated(math.sqrt(alpha) * images.astype(np.float64)), grid)


def terms(config: DPPromiseConfig, facts: DatasetFacts) -> dict[str, Any]:
    """What the paper's formula knows of phase one."""
    return {
        "num_dimensions": facts.dimensions,
        "num_records": facts.num_records,
        "alphas_cumprod": alpha_at_boundary(config),
        "batch_size_1": config.phase_one.batch_size,
        "steps_1": config.phase_one.steps,
    }


def alpha_at_boundary(config: DPPromiseConfig) -> float:
    """abar_S, the share of a record's variance that is left at the boundary."""
    return float(build_schedule(config.diffusion).alphas_cumprod[config.last_private_timestep])


def epsilon_alone(config: DPPromiseConfig, facts: DatasetFacts, delta: float, target: Target) -> float:
    """Epsilon of phase one without phase two, by bound or by claim."""
    if target == "claim":
        return claimed_phase_one(**terms(config, facts), delta=delta)
    return proved_bound([stage(config, facts)], delta).epsilon


def smallest_boundary(config: DPPromiseConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> int:
    """The smallest S whose phase one alone stays within its share of `epsilon`, by bound or by claim."""

    def with_boundary(boundary: int) -> DPPromiseConfig:
        return with_values(config, {"boundary": boundary})

    def claimed(boundary: int) -> float:
        return epsilon_alone(with_boundary(boundary), facts, delta, target)

    return calibration.calibrate_integer(
        lambda boundary: [stage(with_boundary(boundary), facts)],
        config.phase_one.share * epsilon,
        delta,
        low=1,
        high=config.diffusion.timesteps - 1,
        field="boundary",
        evaluate=claimed if target == "claim" else None,
    )


PHASE_TWO = "phase two"

__all__ = ["PHASE_ONE", "PHASE_TWO", "PRETRAINING", "RELEASE", "claimed_stages", "stages"]


def stages(config: DPPromiseConfig, facts: DatasetFacts) -> list[Stage]:
    """Pre-training (free, and the selection, if any), phase one (with one-shot targets a release, and free steps on it), phase two."""
    check_model(config, facts)
    if config.selected.takes_place and not config.conditional:
        raise WorkbenchError("Expected conditional training where images are selected: records vote by their labels. Use conditional=true.")
    if config.labels.are_released and not config.conditional:
        raise WorkbenchError("Expected conditional training where samples have labels by counts. Use conditional=true.")
    second = [stage(config, facts)] if config.phase_one.steps else []
    if second and config.targets == "one-shot":
        second.append(config.phase_one.free_stage(PHASE_ONE))
    return [*pretraining_stages(config, facts), *second, config.phase_two.stage(PHASE_TWO, facts.num_records)]


def claimed_stages(config: DPPromiseConfig, facts: DatasetFacts) -> list[Stage]:
    """Both phases as Theorem 2 counts them: phase one is one release, whose noise is that of its images."""
    known = terms(config, facts)
    second = config.phase_two.stage(PHASE_TWO, facts.num_records, "As printed.")
    distance = phase_one_distance(known["num_dimensions"], known["alphas_cumprod"])
    if not config.phase_one.steps:
        return [second]
    step = dp_event.PoissonSampledDpEvent(known["batch_size_1"] / facts.num_records, dp_event.GaussianDpEvent(1 / distance))
    whole = dp_event.SelfComposedDpEvent(step, config.phase_one.steps)
    return [Stage(PHASE_ONE, whole, "once", sampling="Poisson, as printed"), second]
