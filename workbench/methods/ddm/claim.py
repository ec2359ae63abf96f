"""What Wei et al. state: Theorem 1, a guarantee per instance, whose constants the text that we have leaves open."""

import math

from workbench.methods.base import Reading
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "Wei et al. 2024 (DDM), Theorem 1"
PER_INSTANCE = (
    "The guarantee is per instance: its delta depends on the other records of the table, and no epsilon holds for all tables. "
    "The values per record are on the Records page."
)
COMBINED = (
    "The paper proposes to combine its model with DP-SGD and states no number for it. What is proved of these steps is the bound beside it."
)
READINGS = {
    "ddm": Reading(
        title="Discrete diffusion on tables, per-instance DP; not evaluated: psi, eta and c* are not defined in the text we have",
        preset="published",
        formula="delta <= m [sum over t of (min{4 N/s, 1} n/s^psi + n (1 - 1/Rb)/s^2) + errors] / (eps (1 - e^-eps))",
        notation={"num_records": "s"},
        dataset="breast-cancer",
    )
}


def claimed(*, private: bool, delta: float) -> PrivacyValue:
    """No epsilon, and why: the paper's guarantee is about single records, and its combination with DP-SGD a proposal."""
    reason = COMBINED if private else PER_INSTANCE
    return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=SOURCE)


def theorem_1(
    *,
    epsilon: float,
    num_samples: int,
    num_columns: int,
    num_records: int,
    neighbour_counts: list[int],
    decays: list[float],
    ratios_before: list[float],
    errors: list[float],
) -> float:
    """Theorem 1: delta of a record at `epsilon`, the undefined quantities given by the caller.

    For every t from max(T_rl, 1) to T: neighbour_counts N_{(1+c*_t) eta_t}(v*), decays psi_t, ratios_before Rb_{t-1} and
    errors, the term O(sqrt gamma_t + gamma~_t). m = num_samples, n = num_columns, s = num_records. The text we have does not
    define psi, eta and c*, so nothing of ours supplies them.
    """
    s, n = num_records, num_columns
    steps = zip(neighbour_counts, decays, ratios_before, errors, strict=True)
    total = sum(min(4 * count / s, 1.0) * n / s**psi + n * (1 - 1 / ratio) / s**2 + error for count, psi, ratio, error in steps)
    return min(1.0, num_samples * total / (epsilon * -math.expm1(-epsilon)))
