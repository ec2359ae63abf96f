"""Published codes that do something else than their papers, whose methods are built here in the sound form: what is proved of the code."""

import math

from workbench.claims.unbuilt.bare import BareClaim, unproved_stage
from workbench.methods.datalens.method import FORMULA, PUBLISHED, SOURCE, DataLensConfig, claimed
from workbench.models.teachers.config import gaussian_votes
from workbench.privacy.accounting.values import PrivacyValue

WRAPPED = (
    "The code deals each class's records out in turn and begins anew where they run out, so that 1138 of MNIST's have two teachers and "
    "move their votes twice as far. Its data-dependent number holds noisy vectors against a theorem on a noisy argmax: no bound where it "
    "is less."
)
NOISE, TOP, THRESHOLD, STEPS = PUBLISHED["published"]
BATCH = 15
CODED = DataLensConfig.model_validate(
    {"noise_multiplier": NOISE, "top": TOP, "threshold": THRESHOLD, "training": {"batch_size": BATCH, "steps": STEPS}}
)


def datalens_claim(*, delta: float, **_: float) -> PrivacyValue:
    """The formula for parts that share no record, which these do."""
    return claimed(CODED, delta).model_copy(update={"status": "refuted"})


DATALENS = BareClaim(
    title="DataLens as coded: records with two teachers",
    source=SOURCE,
    reason=WRAPPED,
    formula=FORMULA,
    where="mnist",
    claimed=datalens_claim,
    arguments={"noise_multiplier": NOISE, "top": TOP, "batch_size": BATCH, "steps": STEPS},
    notation={"noise_multiplier": "s", "top": "k", "batch_size": "B", "steps": "R"},
    stages=lambda: [gaussian_votes(NOISE, 4.0 * CODED.changes, STEPS, WRAPPED)],
)

CODED_DELTA, NEEDED_DELTA = 10 ^ 5, 1e5  # in Python 10 ^ 5 is 15: the bits that differ


def scale(inverse_delta: float) -> float:
    """The Gaussian mechanism's noise for a sensitivity of 1, times epsilon (Dwork and Roth 2014, Theorem A.1)."""
    return math.sqrt(2.0 * math.log(1.25 * inverse_delta))


LABELS = (
    "The first public script has no teachers: it adds noise to the labels 0 and 1 of private batches, whose images enter the gradients "
    f"bare, so no finite epsilon holds. For delta 10^-5 that noise is sqrt(2 log(1.25 (10 XOR 5))) = {scale(CODED_DELTA):.3g} over "
    f"epsilon, where one release needs {scale(NEEDED_DELTA):.3g}, and no step is counted."
)
PATE_GAN = BareClaim(
    title="PATE-GAN as first coded: no teachers",
    source="Jordon, Yoon and van der Schaar 2019, their first public script, as kept by Ganev et al. 2025",
    reason=LABELS,
    stages=lambda: [unproved_stage(LABELS, refuted=True)],
)
