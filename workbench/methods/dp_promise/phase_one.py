"""Phase one: the release of noised records, its event, and the boundary at which it fits its share of epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_schedule
from workbench.errors import WorkbenchError
from workbench.methods.base import Target
from workbench.methods.dp_promise import claim
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.methods.fields import with_values
from workbench.privacy import proved_bound
from workbench.privacy.accounting import calibration
from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent, ReplaceOneGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.grid import Grid
from workbench.training.ordinary import check_batch_size

if TYPE_CHECKING:
    from workbench.training.randomness import Randomness

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
        return Stage(PHASE_ONE, event, "per_step", config.phase_one.steps, sampling="Poisson batches", reason=REFUTED)
    distance = claim.phase_one_distance(facts.dimensions, alpha_at_boundary(config))
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


def noised(config: DPPromiseConfig, images: np.ndarray, randomness: Randomness, purpose: str, step: int) -> np.ndarray:
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
        return claim.claimed_phase_one(**terms(config, facts), delta=delta)
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
