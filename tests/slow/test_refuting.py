"""Unproved claims caught above what they say, at 99 % confidence, by the trials that the Claims page shows."""

from typing import Any

import pytest
from support.slow_tier import DDPM

from workbench.claims.caught import attack_of
from workbench.evaluation.refuting import ATTACKS, attack_claim

TRIALS, CONFIDENCE = 2000, 0.99
DEPENDS = [
    *DDPM,
    "workbench/claims/caught.py",
    "workbench/evaluation/refuting/**",
    "workbench/methods/dp_cgan/**",
    "workbench/methods/dp_feta/**",
    "workbench/methods/dp_kernel/**",
    "workbench/methods/dp_promise/**",
    "workbench/methods/dp_sad/**",
    "workbench/methods/dp_sinkhorn/**",
    "workbench/methods/dpgen/**",
    "workbench/methods/p3dm/**",
    "workbench/methods/p3gm/**",
    "workbench/methods/privimage/**",
    "workbench/models/adversarial/**",
    "workbench/models/embeddings/**",
    "workbench/models/recovery/**",
    "workbench/privacy/attacks/**",
]


@pytest.mark.slow(depends=DEPENDS)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_claim_is_caught(name: str, figures: dict[str, Any]) -> None:
    """As `workbench caught` does it, with another seed than that of what is shown."""
    attack = attack_claim(name, ATTACKS[name], TRIALS, CONFIDENCE, seed=1)
    shown = attack_of(name)
    figures |= {"claim": attack.claim, "measured, at least": attack.epsilon, "confidence": CONFIDENCE, "trials": TRIALS}
    figures |= {"missed": attack.missed, "accused": attack.accused}
    assert attack.is_caught
    assert shown is not None
    assert shown.claim == pytest.approx(attack.claim)
    assert shown.epsilon > shown.claim
