"""Every method's own fit, held against what its stages state: rate, noise, clipping, divisor, boundary, freshness, sensitivity."""

import pytest
from support.mechanism import Finding, bench_of, findings, violations
from support.odd_methods import join_registry
from support.quick import ALL_METHODS

SAMPLED = {"sampling rate", "independence of steps", "independence of records"}
MOVED = {"replaced record", "null record"}  # both distances, held against `Stage.distances`
MEASURED = {  # what must have been measured of a paid stage, by the type of its event: a harness that looks nowhere finds nothing
    "PoissonSampledDpEvent": SAMPLED | MOVED | {"noise", "noise multiplier", "clipping", "record not drawn"},
    "FixedBatchGaussianDpEvent": SAMPLED | MOVED | {"order", "noise", "noise multiplier", "label", "record not drawn"},
    "ReplaceOneGaussianDpEvent": MOVED | {"noise"},
    "ExponentialMechanismDpEvent": MOVED | {"choice"},
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    join_registry(monkeypatch)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_what_happens_is_what_the_stages_state(method: str) -> None:
    bench = bench_of(method)
    found = findings(bench)
    assert violations(found) == []
    for stage in bench.method.stages(bench.plan.facts):
        if stage.spent != "free":
            assert measured(found, stage.name) >= MEASURED.get(type(stage.event).__name__, {"mechanism"})
    assert {"spending", "freshness"} <= measured(found, "all")
    assert ("public records" in measured(found, "all")) == (bench.public is not None)


def measured(found: list[Finding], stage: str) -> set[str]:
    """What was measured of a stage."""
    return {finding.quantity for finding in found if finding.stage == stage}
