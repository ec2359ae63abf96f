"""P3DM (Xu et al. 2024): randomised response as in DPGEN, and PAC privacy beside it."""

from functools import partial

from workbench.claims.unbuilt.bare import BareClaim, unproved_stage
from workbench.claims.unbuilt.response import EPSILON, FORMULA, NOTATION, NUM_CANDIDATES, keep_probability, randomized_response

SOURCE = "Xu et al. 2024 (P3DM), section 4"
RANDOMISED_INDEX_AND_PAC = (
    "The randomised response of a record is another record, verbatim, so the triples have no finite epsilon and none is known for a "
    "network trained on them. "
    "The PAC noise bounds a mutual information, which is no epsilon, and only if the data are drawn anew for every output, which one "
    "trained model is not."
)

CLAIM = BareClaim(
    title="P3DM",
    source=SOURCE,
    reason=RANDOMISED_INDEX_AND_PAC,
    formula=f"{FORMULA}; PAC privacy beside it: MI(X; M(X) + B) <= v + beta",
    where=f"the true index is kept with probability {keep_probability(EPSILON, NUM_CANDIDATES):.4f}",
    claimed=partial(randomized_response, source=SOURCE),
    arguments={"epsilon": EPSILON},
    beside={"num_candidates": NUM_CANDIDATES},
    notation=NOTATION,
    stages=lambda: [unproved_stage(RANDOMISED_INDEX_AND_PAC, refuted=True)],
)
