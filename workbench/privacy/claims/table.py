"""Every method's claim at one stated setting, beside what is proved there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.claims import formulas
from workbench.privacy.claims.settings import (
    NO_FORMULA,
    PER_INSTANCE,
    PRIVATE_THRESHOLD,
    TEACHER,
    TwoPhases,
    dp_sgd_stage,
    embedding_stage,
    gaussian_stage,
    unproved_stage,
)

DELTA = 1e-5
MNIST = TwoPhases()
MNIST_TEXT = "MNIST: d=784, n=60000, S=900, m1=32, N1=5625, q2=1/15, N2=750, noise multiplier 1.13"
DP_SGD_REASON = (
    "Gradients are clipped per record and summed over Poisson batches with Gaussian noise. The accountants bound this mechanism."
)
SAD = {"vector_length": 1_620_000, "batch_size": 64, "steps": 1000, "noise_multiplier": 3.4e5}
SAD_TEXT = "s=1.62e6 parameters, B=64, N=1000, T=500, noise multiplier 3.4e5 (noise of 340000 C in every coordinate)"
SOUND_SAD = {"vector_length": 1_620_000, "batch_size": 4000, "steps": 4500, "noise_multiplier": 2.487, "per_record": True}
CHU_STEPS = 93_800
DPDM_SOURCE = "Dockhorn et al. 2023 (DPDM)"


@dataclass(frozen=True)
class Claim:
    """One method's formula with the arguments of its stated setting, and the releases its bound follows from.

    `arguments` are those of `formula`, delta left out where it is `DELTA`; `formula` is None where our notes hold none.
    `reason`: two plain sentences about the bound.
    """

    title: str
    expression: str
    setting: str
    formula: Callable[..., PrivacyValue] | None
    arguments: Callable[[], dict[str, Any]]
    stages: Callable[[], list[Stage]] | None
    reason: str
    source: str


class ClaimRow(BaseModel):
    """A line of the claims table: what the paper claims and what is proved at the same setting."""

    model_config = ConfigDict(frozen=True)

    method: str
    title: str
    formula: str
    setting: str
    claim: PrivacyValue
    bound: PrivacyValue
    source: str


def claims_table() -> list[ClaimRow]:
    """One row for every entry of CLAIMS, evaluated at its stated setting (a few seconds the first time)."""
    from workbench.privacy.claims import CLAIMS

    return [evaluate_claim(name, entry) for name, entry in CLAIMS.items()]


@lru_cache(maxsize=64)
def evaluate_claim(name: str, entry: Claim) -> ClaimRow:
    """The row of one entry."""
    claim = not_evaluated(entry) if entry.formula is None else entry.formula(**entry.arguments())
    return ClaimRow(
        method=name,
        title=entry.title,
        formula=entry.expression,
        setting=entry.setting,
        claim=claim,
        bound=_bound(entry),
        source=entry.source,
    )


def not_evaluated(entry: Claim) -> PrivacyValue:
    """The value of a claim without a formula in our notes."""
    return PrivacyValue(epsilon=float("inf"), delta=DELTA, status="not_evaluated", reason=entry.reason, source=entry.source)


def _bound(entry: Claim) -> PrivacyValue:
    from workbench.privacy.accounting.bounds import proved_bound

    if entry.stages is None:
        return not_evaluated(entry)
    bound = proved_bound(entry.stages(), DELTA)
    return bound.model_copy(update={"reason": entry.reason, "source": entry.source})


def claims_markdown() -> str:
    """The claims table as a document: one section a method, the numbers first, then the reason and the source."""
    rows = claims_table()
    lines = [
        "# What the papers claim, and what is proved",
        "",
        "Made by `workbench claims --markdown`; do not edit. Every formula is evaluated at one stated setting. An epsilon that is not",
        "*proved* is no guarantee: *approximation* is a central limit, *not_proved* means that we know no proof, *refuted* that the",
        "analysed release provably has no finite epsilon, *not_evaluated* that our notes hold no formula.",
        "",
        "| method | claimed epsilon | status of the claim | proved bound | status of the bound |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {row.method} | {_number(row.claim)} | {row.claim.status} | {_number(row.bound)} | {row.bound.status} |" for row in rows]
    for row in rows:
        lines += ["", f"## {row.method}", "", *_section(row)]
    return "\n".join(lines) + "\n"


def _section(row: ClaimRow) -> list[str]:
    lines = [f"{row.title}."]
    if row.formula:
        lines += ["", f"- Formula: {row.formula}", f"- Setting: {row.setting}", f"- Claim: {_number(row.claim)}{_conditions(row.claim)}"]
    if row.bound.status != "not_evaluated":
        lines += [f"- Proved: {_number(row.bound)}{_conditions(row.bound)}"] if row.formula else ["", f"- Proved: {_number(row.bound)}"]
    return [*lines, "", row.bound.reason, "", f"Source: {row.source}."]


def _conditions(value: PrivacyValue) -> str:
    named = [f"delta {value.delta:g}", value.neighboring_relation, value.accountant, value.sampling]
    return f" ({'; '.join(item for item in named if item)})"


def _number(value: PrivacyValue) -> str:
    if value.status == "not_evaluated":
        return "not evaluated"
    return f"{value.epsilon:.5g}" if value.is_finite else "infinite"


def not_in_notes(title: str, source: str, reason: str = NO_FORMULA) -> Claim:
    """An entry for a paper whose formula our notes do not hold."""
    return Claim(title, "", "", None, dict, None, reason, source)


def dp_sgd_claim(title: str, source: str, noise_multiplier: float, sample_rate: float, steps: int, setting: str) -> Claim:
    """An entry for a method whose only private step is DP-SGD."""
    numbers = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    return Claim(
        title,
        "RDP of the Poisson-sampled Gaussian over all steps",
        setting,
        formulas.dp_sgd,
        lambda: {**numbers, "delta": DELTA, "source": source},
        lambda: [dp_sgd_stage(noise_multiplier, sample_rate, steps)],
        DP_SGD_REASON,
        source,
    )


def two_phase_claim(title: str, stages: Callable[[], list[Stage]], reason: str) -> Claim:
    """An entry for a variant of dp-promise at the published MNIST setting."""
    return Claim(
        title,
        "mu = sqrt(mu1^2 + mu2^2), mu1 = (m1/n) sqrt(N1 (e^(4 d abar/(1-abar)) - 1)), mu2 = (m2/n) sqrt(N2 (e^(1/sigma^2) - 1))",
        MNIST_TEXT,
        formulas.dp_promise,
        lambda: {**MNIST.terms(), "delta": DELTA},
        stages,
        reason,
        "Wang et al. 2024 (dp-promise), Theorem 2",
    )


def chu_claim(title: str, stage: Callable[[], Stage], per_record: bool, reason: str) -> Claim:
    """An entry for one reading of Chu et al.: 100 epochs of MNIST in batches of 64, noise multiplier 174."""
    return Claim(
        title,
        "min over a of T a/(2 sigma^2) + log(1/delta)/(a - 1)",
        f"n=60000, batch 64, T={CHU_STEPS} steps (100 epochs), noise multiplier 174",
        formulas.chu_dpdm,
        lambda: {"noise_multiplier": 174.0, "steps": CHU_STEPS, "delta": DELTA, "per_record": per_record},
        lambda: [stage()],
        reason,
        "Chu et al. 2023 (DPDM), Algorithm 1 and section IV.C",
    )


def chu_per_record() -> Stage:
    """Gradients clipped per record, Poisson batches of 64 expected."""
    return dp_sgd_stage(174.0, 64 / 60_000, CHU_STEPS)


def chu_batch() -> Stage:
    """The batch's mean gradient clipped to C moves by 2 C against noise C sigma/m."""
    return gaussian_stage(174.0 / (2 * 64), CHU_STEPS)


def chu_private_threshold() -> Stage:
    """The clipping threshold from the private batch, as line 5 of Algorithm 1 has it."""
    return unproved_stage(PRIVATE_THRESHOLD)


def sad_claim(
    title: str, stages: Callable[[], list[Stage]], reason: str, setting: str = SAD_TEXT, numbers: Mapping[str, float | bool] = SAD
) -> Claim:
    """An entry for one reading of DP-SAD at the size of the 1.62 million parameter network."""
    return Claim(
        title,
        "min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1)",
        setting,
        formulas.dp_sad,
        lambda: {**numbers, "delta": DELTA},
        stages,
        reason,
        "Liu et al. 2024 (DP-SAD), Theorem 4",
    )


def response_claim(title: str, reason: str, source: str, beside: str = "") -> Claim:
    """An entry for randomised response over 64 candidate records; `beside`: what else the paper claims."""
    return Claim(
        title,
        f"epsilon of randomised response that keeps the true index with probability e^eps/(e^eps + k - 1){beside}",
        f"epsilon 10, k=64 candidates (the true index is kept with probability {formulas.keep_probability(10.0, 64):.4f})",
        formulas.randomized_response,
        lambda: {"epsilon": 10.0, "source": source},
        lambda: [unproved_stage(reason, refuted=True)],
        reason,
        source,
    )


def embedding_claim(title: str, formula: Callable[..., PrivacyValue], noise_multiplier: float, releases: int, source: str) -> Claim:
    """An entry for Gaussian releases of mean embeddings."""
    return Claim(
        title,
        "analytic Gaussian mechanism at the replace-one sensitivity 2/n",
        f"noise multiplier {noise_multiplier:g} over the sensitivity, {releases} release{'s' if releases > 1 else ''}",
        formula,
        lambda: {"noise_multiplier": noise_multiplier, "delta": DELTA},
        lambda: [embedding_stage(noise_multiplier, releases)],
        "Every record adds a vector of norm 1/n, so replacing one moves the mean by at most 2/n. The generator sees only the noisy mean.",
        source,
    )


def sad_teacher() -> list[Stage]:
    """The paper's mode as a whole."""
    return [unproved_stage(TEACHER)]


def sad_sound() -> list[Stage]:
    """A public teacher, a discriminator that sees generated images alone, and the student's gradients clipped per record."""
    return [dp_sgd_stage(SOUND_SAD["noise_multiplier"], SOUND_SAD["batch_size"] / 60_000, int(SOUND_SAD["steps"]))]


def ddm_claim() -> Claim:
    """The entry of the per-instance method."""
    return Claim(
        "Discrete diffusion on tables, per-instance DP",
        "delta <= m [sum over t of (min{4 N/s, 1} n/s^psi + n (1 - 1/Rb)/s^2) + errors] / (eps (1 - e^-eps))",
        "not evaluated: psi, eta and c* are not defined in the text we have",
        None,
        dict,
        lambda: [unproved_stage(PER_INSTANCE)],
        PER_INSTANCE,
        "Wei et al. 2024 (DDM), Theorem 1",
    )
