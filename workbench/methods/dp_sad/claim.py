"""What DP-SAD claims: its Theorem 4."""

import math

from dp_accounting import dp_event

from workbench.datasets.base import DatasetFacts
from workbench.errors import check_delta
from workbench.methods.base import Reading
from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.stages import STUDENT
from workbench.networks.size import num_parameters
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

FORMULA = "min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1), sigma the noise's deviation"
NOTATION = {"student.batch_size": "B", "student.steps": "N", "student.noise_multiplier": "sigma/C"}
READINGS = {
    "dp-sad": Reading("DP-SAD, output clipped (eq. 17)", "published", f"{FORMULA}; s the pixels", NOTATION | {"dimensions": "s"}),
    "dp-sad-eq15": Reading("DP-SAD, gradient clipped (eq. 15)", "published-eq15", f"{FORMULA}; s the student's weights", NOTATION),
    "dp-sad-sound": Reading(
        "DP-SAD with a public teacher and the student's whole gradient clipped per record",
        "published-sound",
        f"{FORMULA}; s the student's weights",
        NOTATION,
    ),
}
LEAVES_OUT = "The teacher trained on all private records enters every gradient. The clipped part is not the whole gradient."
OUTSIDE = "It counts the student's steps alone. The teacher's, or the labels, are released from the same records and stand outside it."
CHARGES = "The formula charges 4 s B times what a step costs, for every coordinate and every record of the batch. True and useless."


def clipped_length(config: DPSADConfig, facts: DatasetFacts) -> int:
    """s, the length of what is clipped: the pixels of an image by eq. 17, else the weights of the student."""
    if config.mode == "eq17":
        return facts.dimensions
    return num_parameters(config.network, facts.shape, max(config.labels.told(facts).num_classes, 1))


def claim(config: DPSADConfig, facts: DatasetFacts, delta: float) -> PrivacyValue:
    """Theorem 4 for a configured student; what else is released of the same records stands outside it, and is said to."""
    value = claimed(
        vector_length=clipped_length(config, facts),
        batch_size=config.student.batch_size,
        steps=config.student.steps,
        noise_multiplier=config.student.known_noise_multiplier(STUDENT),
        delta=delta,
        per_record=config.is_sound,
    )
    if config.has_private_teacher or config.labels.are_paid_for:
        return value.model_copy(update={"status": "not_proved", "reason": OUTSIDE})
    return value


def claimed_stages(config: DPSADConfig, facts: DatasetFacts) -> list[Stage]:
    """The student's steps as Theorem 4 counts them: 2 C^2 s B a/sigma^2 at order a is a Gaussian of multiplier sigma/(2 C sqrt(s B))."""
    student = config.student
    length = clipped_length(config, facts) * student.batch_size
    event = dp_event.GaussianDpEvent(student.known_noise_multiplier(STUDENT) / (2 * math.sqrt(length)))
    return [Stage(STUDENT, event, "per_step", student.steps, sampling="none claimed")]


def claimed(
    *,
    vector_length: int,
    batch_size: float,
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
