"""DPGEN (Chen et al. 2022): an energy-based model trained on randomised responses among neighbours."""

from functools import partial

from workbench.claims.unbuilt.bare import BareClaim, unproved_stage
from workbench.claims.unbuilt.response import EPSILON, FORMULA, NOTATION, NUM_CANDIDATES, keep_probability, randomized_response

SOURCE = "Chen et al. 2022 (DPGEN)"
RANDOMISED_INDEX = (
    "The randomised response of a record is another record, verbatim. "
    "A data set without that record cannot produce it, so the triples have no finite epsilon; none is known for a network trained on them."
)

CLAIM = BareClaim(
    title="DPGEN",
    source=SOURCE,
    reason=RANDOMISED_INDEX,
    formula=FORMULA,
    where=f"the true index is kept with probability {keep_probability(EPSILON, NUM_CANDIDATES):.4f}",
    claimed=partial(randomized_response, source=SOURCE),
    arguments={"epsilon": EPSILON},
    beside={"num_candidates": NUM_CANDIDATES},
    notation=NOTATION,
    stages=lambda: [unproved_stage(RANDOMISED_INDEX, refuted=True)],
)
