"""Chu et al. 2023 (DPDM): a clipped and noised gradient, whose clipping the algorithm and the proof state differently."""

import math
from functools import partial

from workbench.claims.unbuilt.bare import BareClaim, gaussian_stage, unproved_stage
from workbench.errors import check_delta
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD

NUM_RECORDS = 60_000
TRAINING = DPSGD(noise_multiplier=174.0, batch_size=64, steps=93_800)  # 100 epochs
NOISE_MULTIPLIER = TRAINING.known_noise_multiplier("DP-SGD")
PRIVATE_THRESHOLD = (
    "Line 5 of the algorithm takes the clipping threshold from the private batch, so the scale of the noise depends on the records. "
    "Nothing bounds what that scale tells."
)


def claimed(*, noise_multiplier: float, steps: int, delta: float, per_record: bool = True) -> PrivacyValue:
    """(a, a/(2 sigma^2))-RDP a step over T steps, no amplification, and log(1/delta)/(a-1) to convert.

    The best order is 1 + sigma sqrt(2 log(1/delta)/T), which gives T/(2 sigma^2) + sqrt(2 T log(1/delta))/sigma. A bound
    where gradients are clipped `per_record`, as in the paper's proof; not where a batch is clipped, as in its Algorithm 1.
    """
    check_delta(delta)
    square = steps * inverse_square(noise_multiplier)
    return PrivacyValue(
        epsilon=square / 2 + math.sqrt(2 * square * math.log(1 / delta)),
        delta=delta,
        status="proved" if per_record else "not_proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason="" if per_record else "The algorithm clips the mean gradient of a batch, the proof each record's. The claim is the proof's.",
        source="Chu et al. 2023 (DPDM), section IV.C",
    )


reading = partial(
    BareClaim,
    source="Chu et al. 2023 (DPDM), Algorithm 1 and section IV.C",
    formula="min over a of T a/(2 sigma^2) + log(1/delta)/(a - 1)",
    where="100 epochs of MNIST",
    arguments={"noise_multiplier": NOISE_MULTIPLIER, "steps": TRAINING.steps},
    beside={"num_records": NUM_RECORDS, "batch_size": TRAINING.batch_size},
    notation={"noise_multiplier": "sigma", "steps": "T"},
)

PER_RECORD = reading(
    title="Chu et al. with gradients clipped per record and Poisson batches",
    claimed=claimed,
    stages=lambda: [TRAINING.stage("DP-SGD", NUM_RECORDS)],
    reason="Clipping per record, as the paper's proof has it, with Poisson batches is a Poisson-sampled Gaussian. "
    "The threshold comes from a public batch and costs nothing.",
)
PRINTED = reading(
    title="Chu et al. with the threshold from the private batch, as line 5 of Algorithm 1 has it",
    claimed=partial(claimed, per_record=False),
    stages=lambda: [unproved_stage(PRIVATE_THRESHOLD)],
    reason=PRIVATE_THRESHOLD,
)
BATCH = reading(
    title="Chu et al. with the batch's gradient clipped, as Algorithm 1 has it, and the threshold public",
    claimed=partial(claimed, per_record=False),
    stages=lambda: [gaussian_stage(NOISE_MULTIPLIER / (2 * TRAINING.batch_size), TRAINING.steps)],
    reason="One record can turn the clipped mean of a batch by 2 C against noise C sigma/m, a multiplier of sigma/(2m). "
    "The bound is true and useless.",
)
