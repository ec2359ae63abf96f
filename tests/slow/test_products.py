"""Two changes of a configuration at a time, each held against its stages, and the single ones that CI leaves out."""

from typing import Any

import pytest
from support.mechanism import cases, findings, violations

from workbench.methods import METHODS

DEPENDS = [
    "workbench/methods/*.py",
    "workbench/methods/{method}/**",
    *(f"workbench/{part}/**" for part in ("models", "training", "networks", "diffusion")),
    "workbench/privacy/accounting/**",
    "tests/support/mechanism/**",
    "tests/support/quick.py",
]


@pytest.mark.slow(depends=DEPENDS)
@pytest.mark.parametrize("method", METHODS)
def test_what_happens_is_what_the_stages_state_of_every_two_changes(method: str, figures: dict[str, Any]) -> None:
    products = list(cases.products(method))
    broken = {case.name: wrong for case in products if (wrong := violations(findings(case.bench())))}
    figures["mechanisms beyond those of CI"] = len(products)
    assert broken == {}
