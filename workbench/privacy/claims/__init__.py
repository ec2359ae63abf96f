"""Claims: every paper's own formula, beside what is proved."""

from workbench.privacy.claims.formulas import (
    chu_dpdm,
    ddm_theorem_1,
    dp_mepf,
    dp_merf,
    dp_promise,
    dp_promise_mu_1,
    dp_promise_phase_one,
    dp_sad,
    dp_sgd,
    keep_probability,
    phase_1_distance,
    randomized_response,
)

__all__ = [
    "chu_dpdm",
    "ddm_theorem_1",
    "dp_mepf",
    "dp_merf",
    "dp_promise",
    "dp_promise_mu_1",
    "dp_promise_phase_one",
    "dp_sad",
    "dp_sgd",
    "keep_probability",
    "phase_1_distance",
    "randomized_response",
]
