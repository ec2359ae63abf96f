"""A person of k rows replaced by another, or by nobody: no release of a fit moves further than its plan says, and counts move as far."""

import math
from pathlib import Path

import numpy as np
import pytest
from support.persons import MOST_ROWS, VISITS, Taped, visits
from support.quick import QUICK

from workbench import datasets
from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.experiment import fit
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent, PersonDpEvent
from workbench.records import Records
from workbench.training.state import State

ONE_SHOT = [name for name, method in METHODS.items() if "table" in method.kinds and name != "ddm"]
KEY = bytes(range(16))
SOMEBODY = 17  # has six rows


def planned(method: str, dataset: Dataset, **settings: object) -> Plan:
    return make_plan(method, dataset.facts, epsilon=2.0, settings=QUICK.get(method, {}) | settings)


def taken(plan: Plan, dataset: Dataset, tape: Taped | None = None, without: list[int] | None = None) -> Taped:
    """What the releases of a fit were made of, the rows at `without` made null."""
    randomness = Taped(KEY, tape)
    state = plan.build().initial_state(plan.facts, State(plan.facts, randomness))
    train: Records = dataset.drawn(randomness)
    for _ in plan.build().fit(train if without is None else train.without(np.array(without)), None, state):
        pass
    return randomness


@pytest.mark.parametrize("method", ONE_SHOT)
def test_a_person_replaced_or_made_null_moves_no_release_further_than_is_stated(method: str, tmp_path: Path) -> None:
    one, other = (datasets.load(visits(tmp_path, {SOMEBODY: cells}), declared=VISITS) for cells in ("a,0,no", "c,29,yes"))
    plan = planned(method, one)
    before = taken(plan, one)
    rows = np.flatnonzero((one.drawn(Taped(KEY)).records != other.drawn(Taped(KEY)).records).any(axis=1)).tolist()
    assert len(rows) == MOST_ROWS, "of six rows, three take part"
    stages = {stage.name: stage for stage in plan.stages}
    for relation, after in (("replace_one", taken(plan, other, before)), ("zero_out", taken(plan, one, before, rows))):
        assert [name for name, _ in after.sums] == [name for name, _ in before.sums]
        for (name, there), (_, here) in zip(before.sums, after.sums, strict=True):
            event, moved = stages[name].event, here - there
            assert isinstance(event, PersonDpEvent)
            if isinstance(event.event, ExponentialMechanismDpEvent):
                share = 1.0 if relation == "replace_one" else event.event.zero_out_ratio
                assert np.ptp(moved) <= MOST_ROWS * share * event.event.epsilon * (1 + 1e-9)
                continue
            stated = stages[name].distances
            assert stated is not None
            assert np.linalg.norm(moved) <= getattr(stated, relation) * (1 + 1e-6)


def test_counts_move_as_far_as_is_stated_and_further_than_fewer_rows_could(tmp_path: Path) -> None:
    one, other = (datasets.load(visits(tmp_path, {SOMEBODY: cells}), declared=VISITS) for cells in ("a,0,no", "c,29,yes"))
    plan = planned("independent-marginals", one)
    before = taken(plan, one)
    after = taken(plan, other, before)
    ((_, there), (_, here)), (stated,) = (before.sums[0], after.sums[0]), [stage.distances for stage in plan.stages]
    assert stated is not None
    assert np.linalg.norm(here - there) == pytest.approx(stated.replace_one, rel=1e-6)


@pytest.mark.parametrize("method", ["independent-marginals", "ddm"])
def test_an_epsilon_is_met_for_the_person_at_a_delta_of_persons(method: str, tmp_path: Path) -> None:
    path = visits(tmp_path)
    plan = planned(method, datasets.load(path, declared=VISITS))
    rows = planned(method, datasets.load(path, declared=VISITS.model_copy(update={"person": "", "rows_per_person": 0})))
    assert plan.bound.epsilon <= 2.0
    assert plan.delta == pytest.approx(1 / (50 * math.log(50)))
    noisier, less = (made.build().config.model_dump() for made in (plan, rows))
    noises = [config.get("noise_multiplier") or config["training"]["noise_multiplier"] for config in (noisier, less)]
    assert noises[0] > 1.5 * noises[1]
    assert all("Of a person (patient), by at most 3 rows of each." in stage.reason for stage in plan.stages if stage.spent != "free")
    for made in (plan, Plan.model_validate_json(plan.model_dump_json())):
        made.check()


def test_a_plan_that_states_a_row_where_persons_are_declared_is_refused(tmp_path: Path) -> None:
    plan = planned("independent-marginals", datasets.load(visits(tmp_path), declared=VISITS))
    forged = plan.model_copy(
        update={"releases": tuple(type(r).of(s) for r, s in zip(plan.releases, plan.build().stages(plan.facts), strict=True))}
    )
    with pytest.raises(WorkbenchError, match="Expected a plan whose releases are those of its configuration"):
        forged.check()


def test_a_fit_takes_the_rows_that_its_own_key_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = datasets.load(visits(tmp_path), declared=VISITS)
    plan, given = planned("independent-marginals", dataset), list[Records]()
    method_class = type(plan.build())
    original = method_class.fit

    def watched(self: object, data: Records, *others: object) -> object:
        given.append(data)
        return original(self, data, *others)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(method_class, "fit", watched)
    for key in (KEY, KEY, bytes(16)):
        list(fit(plan, dataset, plan.build().initial_state(plan.facts, State(plan.facts, Taped(key)))))
    drawn = [records.records.tolist() for records in given]
    assert drawn[0] == drawn[1] == dataset.drawn(Taped(KEY)).records.tolist()
    assert drawn[0] != drawn[2]
    assert drawn[0] != dataset.train.records.tolist(), "measures have a draw of their own"
