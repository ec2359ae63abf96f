"""AIM: what its choices, its model and its limit are like, beside what every method owes."""

import math
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from support.tables import unnamed_columns

from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.aim import AIMConfig
from workbench.methods.aim.method import CHOICE, candidates, claimed, weights
from workbench.methods.aim.training import Tables, fitting_candidates, measurements, round_noise, scores, sets_of, structure_of
from workbench.plan import Plan
from workbench.records import Records
from workbench.training.exponential import choice_distance
from workbench.training.marginals import counts_of, present_rows
from workbench.training.state import State

SIZES = (3, 3, 3, 2)
FACTS = DatasetFacts(name="circle", kind=unnamed_columns(SIZES[:3]), num_records=6_000, classes=("no", "yes"))
PAIRS = list(combinations(range(4), 2))


@cache
def circle() -> Dataset:
    """Each of four columns, the label the last, takes after the one before with chance; the first takes after the last too."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 8_000)
    first = np.where(draw.random(8_000) < 0.8, labels, 2)
    second = np.where(draw.random(8_000) < 0.8, first, draw.integers(0, 3, 8_000))
    third = np.where(draw.random(8_000) < 0.5, second, np.where(draw.random(8_000) < 0.7, 2 * labels, 1))
    rows = Records(np.stack([first, second, third], axis=1), labels)
    return Dataset(FACTS, rows.take(slice(6_000)), rows.take(slice(6_000, None)))


@cache
def fitted(method: str = "aim", epsilon: float = 10.0, **settings: Any) -> tuple[Plan, State]:
    plan = make_plan(method, FACTS, epsilon=epsilon, settings=settings)
    state = new_state(plan, seed=1)
    for _ in fit(plan, circle(), state):
        pass
    return plan, state


def config_of(plan: Plan) -> AIMConfig:
    config = plan.build().config
    assert isinstance(config, AIMConfig)
    return config


def distances(one: Records, other: Records) -> list[float]:
    """Total variation of all pairs of columns."""
    rows = [present_rows(part, FACTS) for part in (one, other)]
    tables = [[counts_of(part, SIZES, pair) / len(part) for part in rows] for pair in PAIRS]
    return [float(np.abs(first - second).sum() / 2) for first, second in tables]


def test_a_circle_of_columns_comes_out_right_where_a_tree_leaves_a_pair_out() -> None:
    aim, mst = (distances(sample(*fitted(method), 6_000), circle().train) for method in ("aim", "mst"))
    assert max(aim) < 0.015
    assert max(mst) > 2 * max(aim)


def test_triples_can_be_the_workload() -> None:
    plan, state = fitted(workload="triples", rounds=6)
    assert {len(one) for one in candidates(config_of(plan), FACTS)} == {1, 2, 3}
    assert 3 in {len(one) for one in sets_of(state.tensors["chosen"])}
    assert max(distances(sample(plan, state, 6_000), circle().train)) < 0.03


def test_what_is_measured_has_the_noise_that_the_estimate_counts_on() -> None:
    """Over its many seeds the counts of the first release and of a chosen one are as far off as they are said to be."""
    plan = make_plan("aim", FACTS, epsilon=1.0, settings={"rounds": 1})
    off: list[list[float]] = [[], []]
    rows = present_rows(circle().train, FACTS)
    for seed in range(12):
        state = new_state(plan, seed=seed)
        for _ in fit(plan, circle(), state):
            pass
        for place, one in enumerate(measurements(config_of(plan), state)):
            real = counts_of(rows, SIZES, one.columns).ravel() / 6_000
            off[place // 4] += ((one.shares - real) / one.deviation).tolist()
    for deviations in off:
        assert len(deviations) > 70
        assert np.std(deviations) == pytest.approx(1.0, abs=0.25)


def test_a_row_moves_scores_by_at_most_one_and_another_in_its_place_by_at_most_two() -> None:
    """And comes near to both, so neither is stated too large."""
    plan, state = fitted()
    config, train = config_of(plan), circle().train
    assert train.labels is not None
    before = scores(config, Tables(config, train, FACTS), state, 5)
    nulled, replaced = [], []
    for position in range(25):
        nulled.append(scores(config, Tables(config, train.without(position), FACTS), state, 5) - before)
        records, labels = train.records.copy(), train.labels.copy()
        records[position], labels[position] = (records[position] + 1) % 3, 1 - labels[position]
        replaced.append(scores(config, Tables(config, replace(train, records=records, labels=labels), FACTS), state, 5) - before)
    assert 0.99 < np.abs(nulled).max() <= 1.0
    assert 1.9 < np.abs(replaced).max() <= 2.0


def test_scores_are_exact_sums_of_small_powers_of_two() -> None:
    plan, state = fitted()
    values = scores(config_of(plan), Tables(config_of(plan), circle().train, FACTS), state, 3)
    assert np.array_equal(np.ldexp(values, 18), np.rint(np.ldexp(values, 18)))


def test_a_marginal_that_was_released_has_the_penalty_of_less_noise() -> None:
    plan, state = fitted()
    config, tables = config_of(plan), Tables(config_of(plan), circle().train, FACTS)
    sets = candidates(config, FACTS)
    place = sets.index(sets_of(state.tensors["chosen"])[0])
    never, once = scores(config, tables, state, 1)[place], scores(config, tables, state, 2)[place]
    saved = math.sqrt(2 / math.pi) * round_noise(config, state) * (1 - math.sqrt(0.5)) * math.prod(SIZES[column] for column in sets[place])
    assert once - never == pytest.approx(weights(config, FACTS)[place] * saved, abs=0.01)


def test_weights_are_those_of_the_workload_and_the_targets_sets_come_first() -> None:
    config = AIMConfig(target_weight=3.0)
    weight_of = dict(zip(candidates(config, FACTS), weights(config, FACTS), strict=True))
    by_hand = {one: sum((3 if 3 in pair else 1) * len({*pair} & {*one}) for pair in PAIRS) for one in weight_of}
    assert weight_of == {one: round(256 * value / max(by_hand.values())) / 256 for one, value in by_hand.items()}
    assert weight_of[0, 3] == max(weight_of.values()) == 1.0 > weight_of[0, 1] > weight_of[3,] > weight_of[0,]
    assert len(set(weights(AIMConfig(target_weight=1.0), FACTS))) == 2, "alike but for how many columns they have"


@pytest.mark.parametrize(("most_cells", "rounds"), [(1, 3), (12, 3), (36, 8)])
def test_the_model_stays_in_its_limit(most_cells: int, rounds: int) -> None:
    plan, state = fitted(most_cells=most_cells, rounds=rounds)
    chosen, tree = sets_of(state.tensors["chosen"]), structure_of(state).tree
    assert tree.cells <= max(most_cells, sum(SIZES))
    assert (max(map(len, chosen)) == 1) == (most_cells < 12), "single columns are always open"
    assert len(sample(plan, state, 10)) == 10


def test_a_large_table_is_no_candidate() -> None:
    wide = FACTS.model_copy(update={"kind": unnamed_columns((4_000, 3_000))})
    assert (0, 1) not in candidates(AIMConfig(), wide)
    assert {(0,), (1,), (0, 2), (1, 2)} < set(candidates(AIMConfig(), wide))
    lonely = FACTS.model_copy(update={"kind": unnamed_columns((4,)), "classes": ()})
    with pytest.raises(WorkbenchError, match="at least two columns"):
        make_plan("aim", lonely, epsilon=1.0)


def test_releases_cost_as_one_gaussian_of_the_noise_multiplier_would_to_a_few_percent() -> None:
    ours, one = (make_plan(name, FACTS, settings={"noise_multiplier": 2.0}) for name in ("aim", "independent-marginals"))
    assert [stage.steps for stage in ours.stages] == [1, 8, 8, 9]
    assert one.bound.epsilon * 0.99 < ours.bound.epsilon < one.bound.epsilon * 1.1
    assert ours.bound.neighboring_relation == "REPLACE_SPECIAL"


def test_choices_and_marginals_say_all_that_their_bound_rests_on() -> None:
    config = AIMConfig(noise_multiplier=2.0, share_of_one_way=0.2, share_of_choice=0.3)
    assert config.share_of_one_way + config.share_of_choice + config.share_of_marginals == pytest.approx(1.0), "or the claim is short"
    plan = make_plan("aim", FACTS, settings={"noise_multiplier": 2.0})
    assert plan.replace_one is not None
    stages = {stage.name: stage for stage in plan.stages}
    assert stages[CHOICE].sampler_distance == 8 * choice_distance(len(candidates(config_of(plan), FACTS)))
    assert {stage.relations for stage in plan.stages if stage.spent != "free"} == {("REPLACE_SPECIAL", "REPLACE_ONE")}


def test_earlier_rounds_may_fill_their_part_of_the_limit() -> None:
    plan, state = fitted(most_cells=36, rounds=8)
    config = config_of(plan)
    start, sets = new_state(plan, seed=1), candidates(config, FACTS)
    in_first, in_last = ({sets[place] for place in fitting_candidates(config, start, sets, round_)} for round_ in (1, 8))
    assert in_first == {one for one in sets if len(one) == 1}, "a pair has 4 cells more than the 36 / 8 of the first round"
    assert {one for one in sets if len(one) == 2} <= in_last
    assert structure_of(state).tree.cells <= 36


@pytest.mark.parametrize("sigma", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-2])
def test_the_claim_is_the_least_epsilon_of_the_papers_delta(sigma: float, delta: float) -> None:
    epsilon, rho = claimed(noise_multiplier=sigma, delta=delta).epsilon, 1 / (2 * sigma**2)

    def log_delta(order: float) -> float:
        return (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)

    best = min(log_delta(1 + order) for order in np.geomspace(1e-4, 1e6, 200_001))
    assert epsilon > 0
    assert math.exp(best) == pytest.approx(delta, rel=1e-5)
