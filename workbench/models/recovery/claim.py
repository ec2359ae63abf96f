"""What DPGEN and P3DM claim: the epsilon of randomised response over candidates."""

from workbench.errors import WorkbenchError
from workbench.privacy.accounting.values import PrivacyValue

FORMULA = "epsilon of randomised response that keeps the true index with probability e^eps/(e^eps + k - 1)"
REASON = "The index is randomised, but the response is a private record itself. Another data set cannot produce it."


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
        reason=REASON,
        source=source,
    )
