"""Randomised response over candidate neighbours, which DPGEN and P3DM claim an epsilon for."""

import math

from workbench.errors import WorkbenchError
from workbench.privacy.accounting.values import PrivacyValue

EPSILON, NUM_CANDIDATES = 10.0, 64
FORMULA = "epsilon of randomised response that keeps the true index with probability e^eps/(e^eps + k - 1)"
NOTATION = {"num_candidates": "k", "epsilon": "eps"}


def randomized_response(*, epsilon: float, delta: float = 0.0, source: str) -> PrivacyValue:
    """The epsilon of k-ary randomised response over candidate neighbours; pure DP, so that `delta` is not used up."""
    if epsilon < 0:
        raise WorkbenchError(f"Expected epsilon >= 0, got {epsilon}.")
    return PrivacyValue(
        epsilon=epsilon,
        delta=0.0,
        status="refuted",
        accountant="pure DP",
        neighboring_relation="REPLACE_ONE",
        reason="The index is randomised, but the response is a private record itself. Another data set cannot produce it.",
        source=source,
    )


def keep_probability(epsilon: float, num_candidates: int) -> float:
    """e^eps/(e^eps + k - 1): how often randomised response over k candidates keeps the true one."""
    return 1.0 / (1.0 + (num_candidates - 1) * math.exp(-epsilon))
