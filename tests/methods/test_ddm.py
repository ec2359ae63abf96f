"""Discrete diffusion on tables: what it learns, what it samples, what is said of each record."""

import math
from typing import Any

import numpy as np
import pytest
from support.quick import quick_dataset, quick_plan
from support.tables import toy_table

from workbench.datasets import facts
from workbench.diffusion.discrete import alphas_cumprod
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.ddm import DDM, DP_SGD, TRAINING, DDMConfig, training
from workbench.models.table_columns import rows, sizes
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.not_dp import released_chain
from workbench.privacy.not_dp.discrete_chain import DiscreteChain
from workbench.privacy.not_dp.per_instance_exact import exact_leakage
from workbench.training.state import State

TABLE = toy_table()
ORDINARY = {
    "private": False,
    "unprotected.steps": 300,
    "unprotected.batch_size": 64,
    "unprotected.learning_rate": 1e-2,
    "network.hidden_width": 32,
}


def planned(**settings: Any) -> Plan:
    return make_plan("ddm", TABLE.facts, settings=settings)


def trained(plan: Plan) -> State:
    state = new_state(plan, seed=0)
    for _ in fit(plan, TABLE, state):
        pass
    return state


@pytest.fixture(scope="module")
def ordinary() -> tuple[Plan, State]:
    """Trained without privacy for some seconds."""
    plan = planned(**ORDINARY)
    return plan, trained(plan)


def test_private_steps_have_a_bound_and_others_none() -> None:
    plan = make_plan("ddm", facts("breast-cancer"))
    assert [stage.name for stage in plan.stages] == [DP_SGD]
    assert 9.95 <= plan.bound.epsilon <= 10
    assert plan.bound.status == "proved"
    open_ = make_plan("ddm", facts("breast-cancer"), preset="published")
    assert [stage.name for stage in open_.stages] == [TRAINING]
    assert math.isinf(open_.bound.epsilon)
    assert "depends on the others" in open_.bound.reason
    assert {plan.claim.status, open_.claim.status} == {"not_evaluated"}
    assert "per instance" in open_.claim.reason


def test_without_private_steps_no_epsilon_is_met_and_a_claim_never() -> None:
    with pytest.raises(WorkbenchError, match="private=true"):
        make_plan("ddm", TABLE.facts, epsilon=3, settings={"private": False})
    with pytest.raises(WorkbenchError, match="claims no epsilon"):
        make_plan("ddm", TABLE.facts, epsilon=3, target="claim")
    with pytest.raises(WorkbenchError, match="release_time"):
        planned(**{"diffusion.timesteps": 5, "release_time": 5})


def test_what_it_learns_is_the_tables_distribution(ordinary: tuple[Plan, State]) -> None:
    """Class and columns together: the first column follows the class, which independent columns do not."""
    plan, state = ordinary
    drawn = sample(plan, state, 6000)
    real, made = (shares(TABLE.facts.num_classes, data.labels, data.records[:, 0]) for data in (TABLE.train, drawn))
    apart = real.sum(axis=1)[:, None] * real.sum(axis=0)
    assert np.abs(made - real).sum() < 0.15 < np.abs(apart - real).sum()


def shares(classes: int, labels: "np.ndarray | None", column: np.ndarray) -> np.ndarray:
    assert labels is not None
    counts = np.bincount(labels * 3 + column, minlength=3 * classes)
    return counts.reshape(classes, 3) / len(labels)


def test_classes_that_are_asked_for_are_drawn_and_a_class_that_hardly_comes_is_refused(
    ordinary: tuple[Plan, State], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "MOST_BATCHES", 1)
    plan, state = ordinary
    labels = np.array([1, 1, 0, 1, 0])
    drawn = sample(plan, state, 5, labels=labels).labels
    assert drawn is not None
    assert np.array_equal(drawn, labels)
    assert sample(plan, state, 5, labelled=False).labels is None
    bias = state.modules["ema"].get_parameter("module.direct.bias")
    kept = bias.clone()
    bias[-1] = -1e4
    with pytest.raises(WorkbenchError, match="'yes'"):
        sample(plan, state, 100, labels=np.ones(100, np.int64))
    bias.copy_(kept)


def test_a_late_release_is_the_chain_as_it_stands_there(ordinary: tuple[Plan, State]) -> None:
    """Near the start of the chain samples are even whatever was learnt."""
    plan, state = ordinary
    late = planned(**ORDINARY, release_time=49)
    made, real = (shares(2, data.labels, data.records[:, 0]) for data in (sample(late, state, 6000), TABLE.train))
    assert np.abs(made - 1 / 6).sum() < 0.08 < np.abs(real - 1 / 6).sum()
    assert not np.array_equal(sample(late, state, 50).records, sample(plan, state, 50).records)


def test_values_per_record_are_exact_on_a_small_table_and_within_three_standard_errors_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all columns and the class, released at the end or before."""
    few = TABLE.train.take(slice(0, 24))
    for release_time in (0, 2):
        plan = planned(**{"diffusion.timesteps": 6, "diffusion.smoothing": 0.05, "release_time": release_time})
        method = plan.build()
        assert isinstance(method, DDM)
        assert isinstance(method.config, DDMConfig)
        kept = alphas_cumprod(method.config.diffusion)
        chain = DiscreteChain.of(rows(TABLE.facts, few), np.array(sizes(TABLE.facts)), kept, method.config.diffusion.smoothing)
        exact = exact_leakage(chain, release_time)
        values = method.per_instance(TABLE.facts, few, 4000)
        assert values.label.startswith("exact value")
        np.testing.assert_array_equal(values.total, exact.total)
        np.testing.assert_array_equal(values.first, exact.divergence[:, 0])
        with monkeypatch.context() as large:
            large.setattr(released_chain, "MOST_WORK", 0)
            drawn = method.per_instance(TABLE.facts, few, 4000)
        assert (np.abs(drawn.total - exact.total) < 3 * drawn.standard_error + 1e-9).mean() > 0.9
        assert (np.abs(drawn.first - values.first) < 3 * drawn.first_error + 1e-9).mean() > 0.9
        assert drawn.total == pytest.approx(exact.total, rel=0.3)


def test_tables_without_classes_have_no_column_of_them() -> None:
    bare = TABLE.facts.model_copy(update={"classes": ()})
    assert sizes(bare) == (3, 2, 4)
    plan = make_plan("ddm", bare, settings=ORDINARY | {"unprotected.steps": 2})
    assert sample(plan, new_state(plan, seed=0), 7).labels is None


def test_quick_plans_are_private() -> None:
    assert quick_plan("ddm").bound.is_finite
    assert quick_dataset("ddm").facts == TABLE.facts
