"""What Chu et al. claim: Gaussian steps without amplification by sampling."""

import math

from workbench.errors import check_delta
from workbench.methods.base import Reading
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "Chu et al. 2023 (DPDM), Algorithm 1 and section IV.C"
FORMULA = "min over a of T a/(2 sigma^2) + log(1/delta)/(a - 1)"
NOTATION = {"training.noise_multiplier": "sigma", "training.steps": "T"}
READINGS = {
    "chu-dpdm": Reading("Chu et al. with gradients clipped per record and Poisson batches", "published", FORMULA, NOTATION),
    "chu-dpdm-printed": Reading(
        "Chu et al. with the threshold from the private batch, as line 5 of Algorithm 1 has it", "printed-threshold", FORMULA, NOTATION
    ),
    "chu-dpdm-batch": Reading(
        "Chu et al. with the batch's gradient clipped, as Algorithm 1 has it, and a public threshold",
        "printed-clipping",
        FORMULA,
        NOTATION,
    ),
}
BATCH_CLIPPED = "The algorithm clips the mean gradient of a batch, the proof each record's. The claim is the proof's."
PRIVATE_THRESHOLD = "The algorithm's threshold comes from the private batch, which the proof leaves out. The claim is the proof's."


def claimed(*, noise_multiplier: float, steps: int, delta: float, unproved: str = "") -> PrivacyValue:
    """(a, a/(2 sigma^2))-RDP a step over T steps, no amplification, and log(1/delta)/(a-1) to convert.

    The best order is 1 + sigma sqrt(2 log(1/delta)/T), which gives T/(2 sigma^2) + sqrt(2 T log(1/delta))/sigma. A bound
    where gradients are clipped by record at a public threshold, as in the paper's proof; else `unproved` says why it is none.
    """
    check_delta(delta)
    square = steps * inverse_square(noise_multiplier)
    return PrivacyValue(
        epsilon=square / 2 + math.sqrt(2 * square * math.log(1 / delta)),
        delta=delta,
        status="not_proved" if unproved else "proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason=unproved,
        source=SOURCE,
    )
