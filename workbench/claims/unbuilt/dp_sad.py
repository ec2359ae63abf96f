"""DP-SAD (Liu et al. 2024): a student that is distilled from a teacher with clipped and noised gradients."""

import math
from functools import partial

from workbench.claims.unbuilt.bare import BareClaim, gaussian_stage, unproved_stage
from workbench.errors import check_delta
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD

NUM_PARAMETERS, BATCH_SIZE, STEPS, TIMESTEPS = 1_620_000, 64, 1000, 500
NOISE_MULTIPLIER = 3.4e5
SOUND_RECORDS, SOUND_TRAINING = 60_000, DPSGD(noise_multiplier=2.487, batch_size=4000, steps=4500)
TEACHER = (
    "The teacher and the discriminator are trained on all private records and enter every gradient, so clipping one term bounds little. "
    "The chain rule of equation 17 multiplies the clipped part by a factor that depends on the private record and has no bound."
)
LEAVES_OUT = "The teacher trained on all private records enters every gradient. The clipped part is not the whole gradient."
CHARGES = "The formula charges 4 s B times what a step costs, for every coordinate and every record of the batch. True and useless."


def claimed(
    *,
    vector_length: int,
    batch_size: int,
    steps: int,
    noise_multiplier: float,
    delta: float,
    max_grad_norm: float = 1.0,
    per_record: bool = False,
) -> PrivacyValue:
    """Theorem 4: min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1).

    `noise_multiplier` is that of eq. 15; the theorem's sigma is the noise's standard deviation, noise_multiplier times
    `max_grad_norm` C. `vector_length` s: number of parameters for eq. 15, of pixels for eq. 17. A bound, far above the truth,
    where the teacher is public and the whole gradient is clipped `per_record`; not as the paper trains.
    """
    from scipy.optimize import minimize_scalar

    check_delta(delta)
    sigma = noise_multiplier * max_grad_norm
    slope = 2 * max_grad_norm**2 * vector_length * batch_size * steps * inverse_square(sigma)

    def epsilon(log_order: float) -> float:
        """At order a = 1 + e^x."""
        excess = math.exp(log_order)
        return slope * (1 + excess) + log_order - math.log1p(excess) - (math.log(delta) + math.log1p(excess)) / excess

    best = math.inf if math.isinf(slope) else float(minimize_scalar(epsilon, bounds=(-14.0, 14.0), method="bounded").fun)  # pyright: ignore[reportAttributeAccessIssue]
    return PrivacyValue(
        epsilon=max(0.0, best),
        delta=delta,
        status="proved" if per_record else "not_proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason=CHARGES if per_record else LEAVES_OUT,
        source="Liu et al. 2024 (DP-SAD), Theorem 4",
    )


reading = partial(
    BareClaim,
    source="Liu et al. 2024 (DP-SAD), Theorem 4",
    formula="min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1)",
    notation={"vector_length": "s", "batch_size": "B", "steps": "N", "timesteps": "T", "num_records": "n"},
)
printed = partial(
    reading,
    where=f"noise of {NOISE_MULTIPLIER:.0f} C in every coordinate",
    claimed=claimed,
    arguments={
        "vector_length": NUM_PARAMETERS,
        "batch_size": BATCH_SIZE,
        "steps": STEPS,
        "noise_multiplier": NOISE_MULTIPLIER,
    },
    beside={"timesteps": TIMESTEPS},
)

EQUATION_17 = printed(title="DP-SAD in the paper's mode (eq. 17)", stages=lambda: [unproved_stage(TEACHER)], reason=TEACHER)
EQUATION_15 = printed(
    title="DP-SAD with every term of the gradient clipped (eq. 15)",
    stages=lambda: [gaussian_stage(NOISE_MULTIPLIER / (2 * BATCH_SIZE * TIMESTEPS), STEPS)],
    reason="One record may change all B clipped terms through the teacher, so the mean moves by 2 C against noise sigma C/(B T). "
    "With noise of 340000 times the clipping norm in every coordinate nothing is learnt, and the bound is still this large.",
)
SOUND = reading(
    title="DP-SAD with a public teacher and the student's whole gradient clipped per record",
    where="a setting of ours",
    claimed=partial(claimed, per_record=True),
    arguments={
        "vector_length": NUM_PARAMETERS,
        "batch_size": SOUND_TRAINING.batch_size,
        "steps": SOUND_TRAINING.steps,
        "noise_multiplier": SOUND_TRAINING.known_noise_multiplier("DP-SGD"),
    },
    beside={"num_records": SOUND_RECORDS},
    stages=lambda: [SOUND_TRAINING.stage("DP-SGD", SOUND_RECORDS)],
    reason="The teacher is public and the discriminator sees generated images alone, so records enter through the student's gradients. "
    "Clipped per record over Poisson batches they are a Poisson-sampled Gaussian, of which the paper's formula is no account.",
)
