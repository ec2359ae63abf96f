"""Columns made coarser by releases of their own: what they cost, what they find, and that they are drawn once."""

import math
from typing import Any

import numpy as np
import pytest
from support.mechanism import Bench, findings, violations

from workbench.datasets import Dataset, DatasetFacts, load
from workbench.errors import WorkbenchError
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.aim.method import AIM, CHOICE
from workbench.models.grouping import COUNTS, EDGES, Grouping, grouped_facts, stages
from workbench.models.grouping.releases import scores, spread_bounds
from workbench.models.grouping.rows import merged_categories, ranges
from workbench.models.grouping.stages import columns_of, num_steps
from workbench.plan import Plan
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.records import Column, Records, TableKind
from workbench.training.exponential import choice_distance
from workbench.training.state import State

METHODS = ("ddm", "aim", "mst", "independent-marginals")
AGE = Column(name="age", categories=(*Column.of_ranges("age", range(101)).categories, "missing"), edges=tuple(range(101)))
CITY = Column(name="city", categories=tuple(f"city {number}" for number in range(12)))
FACTS = DatasetFacts(name="people", kind=TableKind(columns=(AGE, CITY)), num_records=2_000, classes=("no", "yes"))
SETTINGS: dict[str, Any] = {"columns.quantile_ranges": 4, "columns.most_categories": 3}
QUICK: dict[str, dict[str, Any]] = {"ddm": {"training.steps": 2, "training.batch_size": 50, "training.noise_multiplicity": 2}}


def people(count: int = FACTS.num_records) -> Dataset:
    """Ages about 30, a tenth of them missing; three cities that most live in, and nine others."""
    draw = np.random.default_rng(0)
    ages = np.clip(draw.normal(30, 8, count + 100).astype(np.int64), 0, 99)
    ages[draw.random(len(ages)) < 0.1] = 100
    cities = np.where(draw.random(len(ages)) < 0.9, draw.choice([1, 4, 9], len(ages)), draw.integers(0, 12, len(ages)))
    records = Records(np.stack([ages, cities], axis=1), draw.integers(0, 2, len(ages)))
    facts = FACTS.model_copy(update={"num_records": count})
    return Dataset(facts, records.take(slice(count)), records.take(slice(count, None)))


def planned(method: str, facts: DatasetFacts = FACTS, **settings: Any) -> Plan:
    return make_plan(method, facts, epsilon=10.0, settings=SETTINGS | QUICK.get(method, {}) | settings)


def fitted(plan: Plan, dataset: Dataset, seed: int = 1) -> State:
    state = new_state(plan, seed=seed)
    for _ in fit(plan, dataset, state):
        pass
    return state


@pytest.mark.parametrize("method", METHODS)
def test_edges_are_near_the_quantiles_and_rows_come_back_in_the_declared_categories(method: str) -> None:
    dataset, plan = people(), planned(method, **{"columns.edge_noise": 1.0, "columns.count_noise": 1.0})
    assert [stage.name for stage in plan.stages][:2] == [EDGES, COUNTS]
    state = fitted(plan, dataset)
    ages = dataset.train.records[dataset.train.records[:, 0] < 100, 0]
    np.testing.assert_allclose(state.tensors["edges"][0, 1:-1], np.quantile(ages, [0.25, 0.5, 0.75]) + 0.5, atol=1.5)
    facts, seen = plan.build().seen(state, dataset.train)
    assert TableKind.of(facts.kind).categories == (5, 4)
    facts.check(seen)
    np.testing.assert_array_equal(np.sort(np.unique(dataset.train.records[seen.records[:, 1] < 3, 1])), [1, 4, 9])
    samples = sample(plan, state, 500)
    assert dataset.facts.kind.complaint(samples.records) == ""
    if method != "ddm":  # after two steps it has learnt nothing
        assert 20 < np.median(samples.records[:, 0]) < 40
        assert np.isin(samples.records[:, 1], [1, 4, 9]).mean() > 0.8


def test_a_models_releases_are_stated_of_the_columns_that_it_has() -> None:
    """AIM chooses among sets of the coarse columns, more of which fit its limit: its choice is charged for so many."""
    method = planned("aim", most_cells=300).build()
    assert isinstance(method, AIM)
    chosen, declared = (next(stage for stage in of if stage.name == CHOICE) for of in (method.stages(FACTS), method.model_stages(FACTS)))
    assert chosen == next(stage for stage in method.model_stages(grouped_facts(method.grouping, FACTS)) if stage.name == CHOICE)
    assert chosen.sampler_distance > declared.sampler_distance


def test_the_harness_finds_nothing() -> None:
    bench = small_bench()
    for stage in (EDGES, COUNTS):
        assert violations(findings(bench, only=stage)) == []


def small_bench() -> Bench:
    dataset = people(120)
    return Bench(planned("mst", dataset.facts), dataset)


def test_the_harness_finds_a_rate_that_is_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.models.grouping import releases

    monkeypatch.setattr(releases, "scores", lambda counts: 2 * scores(counts))
    broken = {finding.quantity for finding in violations(findings(small_bench(), only=EDGES))}
    assert broken == {"null record", "replaced record"}


def test_a_score_is_the_difference_of_the_sides_and_moves_by_one_at_most() -> None:
    counts = np.array([3, 0, 2, 4])
    np.testing.assert_array_equal(scores(counts), [-3.0, -3.0, -1.0, -9.0])
    for place in range(4):
        fewer = counts - np.eye(4, dtype=np.int64)[place]
        assert np.abs(scores(np.maximum(fewer, 0)) - scores(counts)).max() <= 1


def test_edges_cost_what_one_gaussian_of_their_noise_would_to_a_few_percent() -> None:
    (stage,) = stages(Grouping(quantile_ranges=4, edge_noise=2.0), FACTS)
    assert (stage.steps, stage.spent, stage.relations[0]) == (2, "per_step", "REPLACE_SPECIAL")
    assert stage.event == ExponentialMechanismDpEvent(2 * 2 / (2.0 * math.sqrt(2)), zero_out_ratio=0.5)
    alone, both, one = (
        make_plan("independent-marginals", FACTS, settings=settings)
        for settings in (
            {"noise_multiplier": 2.0},
            {"noise_multiplier": 2.0, "columns.quantile_ranges": 4, "columns.edge_noise": 2.0},
            {"noise_multiplier": math.sqrt(2.0)},
        )
    )
    assert alone.bound.epsilon < both.bound.epsilon
    assert one.bound.epsilon * 0.9 < both.bound.epsilon < one.bound.epsilon * 1.15


def test_every_column_that_is_cut_has_its_own_steps() -> None:
    hours = Column.of_ranges("hours", range(41))
    facts = FACTS.model_copy(update={"kind": TableKind(columns=(AGE, CITY, hours))})
    config = Grouping(quantile_ranges=4, edge_noise=2.0)
    (stage,) = stages(config, facts)
    assert stage.steps == num_steps(config, columns_of(config, facts)) == 2 * 2
    assert stage.event == ExponentialMechanismDpEvent(2 * 2 / (2.0 * math.sqrt(4)), zero_out_ratio=0.5)
    assert stage.sampler_distance == 2 * (choice_distance(101) + choice_distance(40))


@pytest.mark.parametrize(("method", "rounds"), [("mst", {}), ("aim", {}), ("tab-pe", {"rounds": 1, "share_of_columns": 0.0})])
def test_the_claim_is_of_the_columns_releases_too(method: str, rounds: dict[str, Any]) -> None:
    settings = {"noise_multiplier": 2.0} | SETTINGS | {"columns.edge_noise": 2.0, "columns.count_noise": 2.0}
    both, one = (make_plan(method, FACTS, settings=rounds | noises) for noises in (settings, {"noise_multiplier": 2.0 / math.sqrt(3)}))
    assert both.claim.epsilon == pytest.approx(one.claim.epsilon)
    assert both.bound.epsilon <= 1.05 * both.claim.epsilon, "edges are an exponential mechanism, which a claim takes for a Gaussian one"


def test_a_fit_that_stops_between_edges_goes_on_to_the_same_ones_and_draws_none_again() -> None:
    dataset, plan = people(300), planned("independent-marginals", people(300).facts)
    whole, spent = fitted(plan, dataset), list[tuple[str, int]]()
    state = new_state(plan, seed=1)
    next(iter(fit(plan, dataset, state)))
    again = new_state(plan, seed=2, spend=lambda stage, step: spent.append((stage, step)))
    again.restore(state.checkpoint())
    for _ in fit(plan, dataset, again):
        pass
    assert spent[0] == (EDGES, 2)
    assert (EDGES, 1) not in spent
    for name in ("edges", "category_counts", "one_way"):
        np.testing.assert_array_equal(again.tensors[name], whole.tensors[name])


def test_declared_columns_stay_where_nothing_is_asked_for_or_there_is_no_more() -> None:
    assert stages(Grouping(), FACTS) == []
    assert grouped_facts(Grouping(), FACTS) is FACTS
    few = load("breast-cancer").facts
    assert stages(Grouping(quantile_ranges=8, most_categories=2), few) == []
    eleven = Grouping(quantile_ranges=4, most_categories=11, edge_noise=1.0, count_noise=1.0)
    assert [stage.name for stage in stages(eleven, FACTS)] == [EDGES], "of twelve, merging one would save nothing"
    assert len(stages(Grouping(quantile_ranges=4), few)) == 1
    with pytest.raises(WorkbenchError, match="quantile_ranges of 0, 2, 4, 8 or 16"):
        make_plan("mst", FACTS, epsilon=1.0, settings={"columns.quantile_ranges": 6})


def test_bounds_rise_whatever_is_chosen() -> None:
    for low, middle, high in ((0, 2, 4), (0, 2, 100), (0, 97, 100)):
        bounds = spread_bounds([low, middle, high], 4)
        assert bounds[[0, 2, 4]].tolist() == [low, middle, high]
        assert (np.diff(bounds) > 0).all()


def test_a_range_is_even_over_its_width_and_a_group_follows_its_counts() -> None:
    column = Column(name="x", categories=("a", "b", "c", "missing"), edges=(0.0, 1.0, 2.0, 5.0))
    groups = ranges(column, np.array([0, 1, 3]))
    np.testing.assert_array_equal(groups.numbers, [0, 1, 1, 2])
    np.testing.assert_allclose(groups.shares, [[1, 0, 0, 0], [0, 0.25, 0.75, 0], [0, 0, 0, 1]])
    groups = merged_categories(np.array([2.0, 50.0, -4.0, 40.0]), 2)
    np.testing.assert_array_equal(groups.numbers, [2, 0, 2, 1])
    np.testing.assert_allclose(groups.shares, [[0, 1, 0, 0], [0, 0, 0, 1], [2 / 3, 0, 1 / 3, 0]])
