"""Every method's own fit, held against what its stages state: rate, noise, clipping, divisor, boundary, freshness, sensitivity."""

import re

import pytest
from support.mechanism import Finding, bench_of, cases, findings, violations
from support.odd_methods import join_registry
from support.quick import ALL_METHODS

from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.methods.base import Method, MethodConfig
from workbench.methods.fields import value_at, with_values
from workbench.plan import Plan

SAMPLED = {"sampling rate", "independence of steps", "independence of records"}
MOVED = {"replaced record", "null record"}  # both distances, held against `Stage.distances`
MEASURED = {  # what must have been measured of a paid stage, by the type of its event: a harness that looks nowhere finds nothing
    "PoissonSampledDpEvent": SAMPLED | MOVED | {"noise", "noise multiplier", "clipping", "record not drawn"},
    "RealisedBatchSizeDpEvent": SAMPLED | MOVED | {"noise", "noise multiplier", "clipping", "record not drawn", "relation"},
    "FixedBatchGaussianDpEvent": SAMPLED | MOVED | {"order", "noise", "noise multiplier", "label", "record not drawn"},
    "ReplaceOneGaussianDpEvent": MOVED | {"noise"},
    "PartOfGaussianDpEvent": MOVED | {"noise"},
    "DrawnPartGaussianDpEvent": SAMPLED | MOVED | {"noise", "clipping", "part not drawn", "part drawn", "record not drawn"},
    "SelfComposedDpEvent": MOVED | {"noise"},
    "NoOpDpEvent": {"without release"},
    "ExponentialMechanismDpEvent": MOVED | {"choice"},
}


MEANS = re.compile(r"(?<!\[)\b0(:| (takes|for|leaves|keeps|draws|is)\b)")  # what a description says of a zero


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    join_registry(monkeypatch)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_what_happens_is_what_the_stages_state(method: str) -> None:
    bench = bench_of(method)
    observed = findings(bench)
    assert violations(observed) == []
    for stage in bench.method.stages(bench.plan.facts):
        if stage.spent != "free":
            assert measured(observed, stage.name) >= MEASURED.get(type(stage.event).__name__, {"mechanism"})
    assert {"spending", "freshness"} <= measured(observed, "all")
    assert ("public records" in measured(observed, "all")) == (bench.public is not None)


@pytest.mark.parametrize("case", [*cases.changed(), *cases.presets()], ids=lambda case: case.name)
def test_what_happens_is_what_the_stages_state_of_every_mechanism(case: cases.Case) -> None:
    if case.has_the_usual_stages:
        pytest.skip("stages of the kinds that its method has anyway: tests/slow/test_products.py runs it")
    assert violations(findings(case.bench())) == []


@pytest.mark.parametrize("method", METHODS)
def test_a_number_whose_zero_means_something_is_declared_a_switch(method: str) -> None:
    kind = METHODS[method]
    declared = {switch.name for switch in cases.switches(kind)} | set(kind.sampling_fields)
    described = {name for name, _, info in cases.fields(kind.Config) if MEANS.search(info.description or "")}
    assert described - declared == set()


@pytest.mark.parametrize("method", METHODS)
def test_a_number_whose_zero_changes_which_releases_there_are_is_a_switch(method: str) -> None:
    kind, plan = METHODS[method], cases.Case(method).plan()
    config, switches = plan.build().config, {switch.name for switch in cases.switches(kind)}
    numbers = [name for name, _, _ in cases.fields(kind.Config) if type(value_at(config, name)) in (int, float)]
    standard = releases(plan.build(), plan)
    assert {name for name in numbers if releases_without(config, name, plan) not in (None, standard)} - switches == set()


def releases(method: Method, plan: Plan) -> list[tuple[str, str, str]]:
    """Names, kinds of event and whether paid of all stages, numbers aside."""
    return [(stage.name, type(stage.event).__name__, stage.spent) for stage in method.stages(plan.facts)]


def releases_without(config: MethodConfig, name: str, plan: Plan) -> list[tuple[str, str, str]] | None:
    """The same with a zero in a field's place; None where it may not be zero."""
    try:
        changed = type(config).model_validate(with_values(config, {name: 0}).model_dump())
        return releases(METHODS[plan.method](changed), plan)
    except (ValueError, WorkbenchError):
        return None


def test_what_is_refused_is_refused() -> None:
    for name in cases.REFUSED:
        method, change = name.split()
        field, changed, value = change.partition("=")
        case = cases.Case(method, {field: int(value) if value.isdigit() else value}) if changed else cases.Case(method, {}, field)
        with pytest.raises(WorkbenchError):
            case.plan()


def measured(observed: list[Finding], stage: str) -> set[str]:
    """What was measured of a stage."""
    return {finding.quantity for finding in observed if finding.stage == stage}
