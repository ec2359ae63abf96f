"""dp-promise on one noised copy of every record: one release, and steps that are free."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.homes import here
from support.mechanism import bench_of, findings, violations
from support.quick import quick_dataset, quick_plan

from workbench.datasets import facts, to_unit_range
from workbench.experiment import fit, new_state
from workbench.methods.dp_promise import PHASE_ONE, PHASE_TWO, PRETRAINING, RELEASE, phases, training
from workbench.methods.dp_promise.phases import DPPromiseConfig
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy import proved_bound
from workbench.training.state import State
from workbench.training_data import pretraining_records

OVERRIDES = {"targets": "one-shot"}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return quick_plan("dp-promise", overrides=OVERRIDES)


def config_of(plan: Plan) -> DPPromiseConfig:
    config = plan.build().config
    assert isinstance(config, DPPromiseConfig)
    return config


def weights(state: State) -> dict[str, torch.Tensor]:
    return {f"{name}.{key}": value for name, module in state.modules.items() for key, value in module.state_dict().items()} | state.tensors


def test_what_happens_is_what_the_stages_state() -> None:
    """Noise, distances of a replaced and of a null record, spending first, free steps that look at no record."""
    bench = bench_of("dp-promise", OVERRIDES)
    observed = findings(bench)
    assert violations(observed) == []
    assert {finding.quantity for finding in observed if finding.stage == RELEASE} >= {"noise", "replaced record", "null record"}
    assert {finding.quantity for finding in observed if finding.stage == PHASE_ONE} >= {"free", "boundary"}


def test_the_release_alone_is_an_exact_gaussian_mechanism() -> None:
    """S 900 of 28x28 images: epsilon 1.836 where a record is zeroed out."""
    released = make_plan("dp-promise", facts("mnist"), preset="published-one-shot").stages[1]
    assert (released.name, released.spent, released.steps) == (RELEASE, "once", 1)
    assert proved_bound([released], 1e-5).epsilon == pytest.approx(1.836, abs=5e-4)


def test_phase_one_is_free_however_long_and_the_boundary_is_the_smallest_that_fits(plan: Plan) -> None:
    config = config_of(plan)
    longer = quick_plan("dp-promise", overrides=OVERRIDES | {"phase_one.steps": 5000, "phase_one.batch_size": 1500})
    assert longer.bound.epsilon == plan.bound.epsilon

    def alone(boundary: int) -> float:
        stage = phases.stage(config.model_copy(update={"boundary": boundary}), plan.facts)
        return proved_bound([stage], plan.delta).epsilon

    assert config.boundary is not None
    assert alone(config.boundary) <= 1.0 < alone(config.boundary - 1), "a tenth of epsilon 10"


def test_copies_are_the_records_under_the_noise_of_the_boundary(plan: Plan) -> None:
    dataset, state = quick_dataset("dp-promise"), new_state(plan, seed=0)
    steps = fit(plan, dataset, state)
    while next(steps).stage != RELEASE:
        pass
    alpha = phases.alpha_at_boundary(config_of(plan))
    noise = (state.tensors[training.COPIES].numpy() - math.sqrt(alpha) * to_unit_range(dataset.train.records)) / math.sqrt(1 - alpha)
    assert abs(noise.mean()) < 5 / math.sqrt(noise.size)
    assert noise.std() == pytest.approx(1, abs=5 / math.sqrt(2 * noise.size))
    assert len(np.unique(noise[:, 0, 0, 0])) > 1200, "of its own for every record, in every chunk"


def test_a_resumed_fit_makes_no_second_release(plan: Plan) -> None:
    dataset, whole = quick_dataset("dp-promise"), new_state(plan, seed=0)
    kept, spent = {}, []
    for step in fit(plan, dataset, whole):
        file = io.BytesIO()
        torch.save(whole.checkpoint(), file)
        kept[(step.stage, step.step)] = file.getvalue()
    assert list(kept) == [
        *((PRETRAINING, n) for n in (1, 2, 3)),
        (RELEASE, 1),
        *((name, n) for name in (PHASE_ONE, PHASE_TWO) for n in (1, 2, 3)),
    ]
    for cut in ((PRETRAINING, 3), (RELEASE, 1), (PHASE_ONE, 2)):
        spent.clear()
        second = new_state(plan, seed=1, spend=lambda stage, step: spent.append((stage, step)))
        second.restore(torch.load(io.BytesIO(kept[cut]), weights_only=True))
        for _ in fit(plan, dataset, second):
            pass
        assert (RELEASE in dict(spent)) == (cut == (PRETRAINING, 3))
        for name, value in weights(whole).items():
            assert torch.equal(value, weights(second)[name]), (cut, name)


def test_a_null_record_adds_nothing(plan: Plan) -> None:
    train = quick_dataset("dp-promise").train
    places = np.arange(0, len(train), 2)
    records = train.records.copy()
    records[places] = records[places[::-1]]
    states = []
    for data in (train, replace(train, records=records)):
        states.append(new_state(plan, seed=0))
        for _ in plan.build().fit(data.without(places), pretraining_records(plan, here()), states[-1]):
            pass
    for name, value in weights(states[0]).items():
        assert torch.equal(value, weights(states[1])[name]), name
