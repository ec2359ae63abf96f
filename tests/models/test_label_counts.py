"""Counts of labels that are paid for: samples follow them, the plan names and prices them, and one record moves them no further."""

import math
from pathlib import Path

import numpy as np
import pytest
from support.persons import Taped
from support.quick import QUICK

from workbench.datasets import Dataset, load
from workbench.errors import WorkbenchError
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.models.label_counts import add_to, release
from workbench.models.label_shares import LABEL_COUNTS, PaidLabelShares
from workbench.training.state import State

PAYING = [
    *("dp-merf", "dpdm", "dp-sgd-dm", "dp-diffusion", "dp-ldm", "dp-lora", "dp-promise"),
    *("dp-gan", "dp-cgan", "dp-sinkhorn", "pate-gan", "g-pate", "datalens"),
]
DIGITS = load("digits")
RELEASED = {"labels.shares": "released", "labels.noise_multiplier": 4.0}


def few_zeros() -> Dataset:
    """Digits of which a tenth of the zeros are left."""
    assert DIGITS.train.labels is not None
    kept = np.flatnonzero((DIGITS.train.labels != 0) | (np.arange(len(DIGITS.train)) % 10 == 0))
    return Dataset(DIGITS.facts.model_copy(update={"num_records": len(kept)}), DIGITS.train.take(kept), DIGITS.held_out)


@pytest.mark.parametrize("method", PAYING)
def test_samples_have_the_shares_that_were_paid_for(method: str) -> None:
    few = few_zeros()
    made = make_plan(method, few.facts, epsilon=10.0, settings=QUICK[method] | RELEASED)
    (stage,) = (stage for stage in made.stages if stage.name == LABEL_COUNTS)
    assert stage.spent == "once"
    assert made.bound.epsilon <= 10.0
    usual = make_plan(method, few.facts, epsilon=10.0, settings=QUICK[method])
    assert LABEL_COUNTS not in [stage.name for stage in usual.stages]
    spent, state = list[str](), new_state(made, seed=0, spend=lambda name, _step: spent.append(name))
    assert "labels" not in usual.build().released_parts
    for _ in fit(made, few, state):
        pass
    assert spent.count(LABEL_COUNTS) == 1
    assert LABEL_COUNTS in made.build().released_parts, "an export samples alike"
    assert (made.build().learns_labels, usual.build().learns_labels) == (True, False), (
        "whether a page says that classes come in equal shares"
    )
    drawn, evenly = sample(made, state, 300).labels, sample(made, state, 100, balanced=True).labels
    assert drawn is not None
    assert evenly is not None
    assert np.bincount(drawn, minlength=10)[0] < 12 < 20 < np.bincount(drawn, minlength=10)[1:].min()
    assert np.bincount(evenly).tolist() == [10] * 10
    if made.build().has_public_model:
        public = sample(made, state, 30, source="public").labels
        assert public is not None
        assert np.bincount(public).tolist() == [3] * 10, "what saw no private record follows none of their counts"


def test_the_price_is_that_of_the_counts_beside_the_rest() -> None:
    settings = {"noise_multiplier": 5.0}
    alone, both = (make_plan("dp-merf", DIGITS.facts, settings=settings | more) for more in ({}, RELEASED))
    assert both.bound.epsilon > alone.bound.epsilon
    assert both.claim.epsilon == pytest.approx(
        make_plan("dp-merf", DIGITS.facts, settings={"noise_multiplier": (1 / 25 + 2 / 16) ** -0.5}).claim.epsilon
    )
    claimed = make_plan("dpdm", DIGITS.facts, epsilon=10.0, settings=QUICK["dpdm"] | RELEASED).claim
    assert (claimed.status, math.isinf(claimed.epsilon)) == ("not_evaluated", True)


def test_a_record_moves_the_counts_as_far_as_is_stated() -> None:
    labels, few = PaidLabelShares(shares="released", noise_multiplier=4.0), few_zeros()
    (stage,) = labels.stages(few.facts)
    assert stage.distances is not None
    other = few.train.take(slice(None))
    assert other.labels is not None
    other.labels[:] = few.train.labels
    changed = other.labels.copy()
    changed[7] = (changed[7] + 1) % 10
    sums = []
    for data in (few.train, few.train.without(7), type(other)(other.records, changed)):
        randomness = Taped(bytes(16))
        state = State(few.facts, randomness)
        add_to(labels, few.facts, state)
        assert len(list(release(labels, data, state))) == 1
        assert list(release(labels, data, state)) == [], "a resume does not repeat it"
        sums.append(randomness.sums[0][1])
    assert np.linalg.norm(sums[1] - sums[0]) == pytest.approx(stage.distances.zero_out, rel=1e-6) == 1 / 4
    assert np.linalg.norm(sums[2] - sums[0]) == pytest.approx(stage.distances.replace_one, rel=1e-6)


def test_what_has_no_classes_to_count_is_refused(tmp_path: Path) -> None:
    nameless = DIGITS.facts.model_copy(update={"classes": ()})
    for method in ("dp-merf", "dpdm"):
        with pytest.raises(WorkbenchError, match="Expected classes to count"):
            make_plan(method, nameless, epsilon=10.0, settings=QUICK[method] | RELEASED)
    with pytest.raises(WorkbenchError, match="Use conditional=true"):
        make_plan("dp-promise", DIGITS.facts, epsilon=10.0, settings=QUICK["dp-promise"] | RELEASED | {"conditional": False})
