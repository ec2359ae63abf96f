"""What every method owes its callers, over the registry and the odd methods."""

import io
import json
import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
import torch
from support.homes import here
from support.odd_methods import join_registry
from support.quick import ALL_METHODS, BOUNDED_METHODS, quick_dataset, quick_plan

from workbench import experiment, methods
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.privacy import event_from_json, event_to_json
from workbench.privacy.accounting.stages import compose
from workbench.serialization import dumps
from workbench.training.state import State
from workbench.training_data import pretraining_records

every_method = pytest.mark.parametrize("method", ALL_METHODS)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    join_registry(monkeypatch)


@dataclass
class Fit:
    """One seeded fit, which several tests look at."""

    plan: Plan
    state: State
    steps: list[tuple[str, int]]
    spent: list[list[tuple[str, int]]]  # what had been spent when each step was done
    checkpoints: list[bytes]  # after each step
    public: list[np.ndarray]  # samples of the public model, drawn after each paid step


@cache
def fitted(method: str) -> Fit:
    """The method's quick plan, fitted once with seed 0, stopped nowhere."""
    plan = quick_plan(method)
    spent: list[tuple[str, int]] = []
    state = new_state(plan, seed=0, spend=lambda stage, step: spent.append((stage, step)))
    whole, paid = Fit(plan, state, [], [], [], []), paid_stages(plan)
    for step in fit(plan, quick_dataset(method), state):
        whole.steps.append((step.stage, step.step))
        whole.spent.append(list(spent))
        file = io.BytesIO()
        torch.save(state.checkpoint(), file)
        whole.checkpoints.append(file.getvalue())
        if step.stage in paid and plan.build().has_public_model:
            whole.public.append(sample(plan, state, 5, source="public").records)
    return whole


def paid_stages(plan: Plan) -> set[str]:
    return {stage.name for stage in plan.stages if stage.spent != "free"}


def run_to_end(plan: Plan, state: State) -> list[tuple[str, int]]:
    return [(step.stage, step.step) for step in fit(plan, quick_dataset(plan.method), state)]


def weights(state: State) -> dict[str, torch.Tensor]:
    tensors = {f"{name}.{key}": value for name, module in state.modules.items() for key, value in module.state_dict().items()}
    return tensors | state.tensors


def assert_same(left: State, right: State) -> None:
    ones, others = weights(left), weights(right)
    assert ones.keys() == others.keys()
    for name, value in ones.items():
        assert torch.equal(value, others[name]), name


@every_method
def test_config_survives_json_and_forbids_unknown_fields(method: str) -> None:
    plan = quick_plan(method)
    kind = methods.METHODS[method]
    again = kind.Config.model_validate(json.loads(dumps(plan.config)))
    assert again == plan.build().config
    with pytest.raises(ValueError, match="no_such_field"):
        kind.Config.model_validate({"no_such_field": 1})
    with pytest.raises(ValueError, match="frozen"):
        setattr(again, next(iter(kind.Config.model_fields)), None)


@every_method
def test_every_field_has_a_description_or_is_a_group(method: str) -> None:
    for name, field in methods.METHODS[method].Config.model_fields.items():
        assert field.description or hasattr(field.annotation, "model_fields"), name
        assert name not in ("epsilon", "delta", "preset", "target"), "forms ask for these beside the configuration"


@every_method
def test_plan_states_event_claim_and_bound(method: str) -> None:
    plan = quick_plan(method)
    event = compose(plan.stages)
    assert event == compose(plan.build().stages(plan.facts)) == event_from_json(event_to_json(event))
    assert plan.bound.status in ("proved", "not_proved", "refuted")
    assert math.isfinite(plan.bound.epsilon) == (plan.bound.status == "proved")
    if not plan.bound.is_finite:
        assert len(plan.bound.reason) > 20
    assert Plan.model_validate(json.loads(dumps(plan))) == plan, "a stored plan reads back"
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize("method", BOUNDED_METHODS)
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_calibration_meets_the_bound_from_below(method: str, epsilon: float) -> None:
    bound = quick_plan(method, epsilon=epsilon).bound.epsilon
    assert 0.995 * epsilon <= bound <= epsilon


@every_method
def test_every_paid_step_is_spent_before_it_is_taken(method: str) -> None:
    once = fitted(method)
    paid = paid_stages(once.plan)
    taken: list[tuple[str, int]] = []
    for step, spent in zip(once.steps, once.spent, strict=True):
        taken += [step] * (step[0] in paid)
        assert spent == taken, "spent exactly what was taken, in order"
    for stage in once.plan.stages:
        steps = [step for name, step in taken if name == stage.name]
        assert steps == list(range(1, stage.steps + 1)) * (stage.name in paid), "in order within its stage; stages may take turns"


@every_method
def test_resume_equals_an_uninterrupted_fit(method: str) -> None:
    whole = fitted(method)
    for cut in sorted({1, len(whole.steps) // 2, len(whole.steps) - 1} - {0}):
        second = new_state(whole.plan, seed=1)
        second.restore(torch.load(io.BytesIO(whole.checkpoints[cut - 1]), weights_only=True))
        assert run_to_end(whole.plan, second) == whole.steps[cut:]
        assert_same(whole.state, second)


@every_method
def test_a_finished_fit_takes_no_step_and_spends_nothing_again(method: str) -> None:
    whole, spent = fitted(method), list[tuple[str, int]]()
    again = new_state(whole.plan, seed=1, spend=lambda stage, step: spent.append((stage, step)))
    again.restore(torch.load(io.BytesIO(whole.checkpoints[-1]), weights_only=True))
    assert run_to_end(whole.plan, again) == []
    assert spent == []
    assert_same(whole.state, again)


@every_method
def test_a_null_record_adds_nothing(method: str) -> None:
    """It counts and is drawn like any other, and what it held before does not matter."""
    plan, dataset = quick_plan(method), quick_dataset(method)
    places, train = np.arange(0, len(dataset.train), 2), dataset.train
    records, labels = train.records.copy(), None if train.labels is None else train.labels.copy()
    records[places] = records[places[::-1]]
    if labels is not None:
        labels[places] = labels[places[::-1]]
    states = []
    for data in (train, replace(train, records=records, labels=labels)):
        states.append(new_state(plan, seed=0))
        for _ in plan.build().fit(data.without(places), pretraining_records(plan, here()), states[-1]):
            pass
    assert_same(*states)


@every_method
def test_seeds_decide_the_fit(method: str) -> None:
    """The same one its first step, after which nothing but the state decides, as resuming shows above; another one differs at some step."""
    whole, dataset = fitted(method), quick_dataset(method)
    same, other, kept = new_state(whole.plan, seed=0), new_state(whole.plan), new_state(whole.plan, seed=1)
    next(fit(whole.plan, dataset, same))
    kept.restore(torch.load(io.BytesIO(whole.checkpoints[0]), weights_only=True))
    assert_same(kept, same)
    for _, checkpoint in zip(fit(whole.plan, dataset, other), whole.checkpoints, strict=True):
        kept.restore(torch.load(io.BytesIO(checkpoint), weights_only=True))
        others = weights(other)
        if any(not torch.equal(value, others[name]) for name, value in weights(kept).items()):
            return
    pytest.fail("another seed gives the same")


@every_method
def test_samples_follow_the_schema_and_come_from_the_released_part(method: str) -> None:
    kind, plan, state = methods.METHODS[method], fitted(method).plan, fitted(method).state
    reloaded = new_state(plan, seed=0)
    reloaded.load_part(state.part((*kind.released, *kind.kept_private)))
    samples = sample(plan, reloaded, 23)
    again = sample(plan, state, 23)
    assert np.array_equal(samples.records, again.records)
    assert samples.records.shape == (23, *plan.facts.shape)
    assert samples.labels is not None
    assert samples.labels.dtype == np.int64
    assert set(samples.labels) == set(range(plan.facts.num_classes))
    assert plan.facts.kind.complaint(samples.records) == ""


@every_method
def test_a_fit_goes_on_with_no_other_public_images_than_it_began_with(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of a step that is repeated would be drawn over another sum."""
    plan = fitted(method).plan
    if (public := pretraining_records(plan, here())) is None:
        return
    monkeypatch.setattr(experiment, "pretraining_records", lambda *_: replace(public, records=public.records[::-1]))
    state = new_state(plan, seed=0)
    state.restore(torch.load(io.BytesIO(fitted(method).checkpoints[0]), weights_only=True))
    with pytest.raises(WorkbenchError, match="Expected the public images that this run began with"):
        next(fit(plan, quick_dataset(method), state))


@every_method
def test_what_is_said_of_noise_in_samples_is_of_what_was_released(method: str) -> None:
    """Samples are drawn by the released parts alone: a share of noise that needs more would be one of zeros."""
    done = fitted(method)
    built = done.plan.build()
    released = new_state(done.plan, seed=1)
    released.load_part(done.state.part(built.released_parts))
    assert built.noise_share(released) == built.noise_share(done.state)
    assert built.class_noise_share(released) == built.class_noise_share(done.state)
    assert built.noise_by_class(released) == built.noise_by_class(done.state)


@pytest.mark.parametrize("method", [name for name, kind in methods.METHODS.items() if "table" in kind.kinds])
def test_methods_on_tables_draw_the_target_as_they_learned_it_unless_it_is_balanced(method: str) -> None:
    plan, state = fitted(method).plan, fitted(method).state
    classes, learned = plan.facts.num_classes, sample(plan, state, 40).labels
    evenly = sample(plan, state, 40, balanced=True).labels
    assert plan.build().learns_labels
    assert learned is not None
    assert evenly is not None
    assert evenly.tolist() == (np.arange(40) % classes).tolist() != learned.tolist()


@every_method
def test_a_public_model_is_declared_and_is_that_of_before_every_paid_stage(method: str) -> None:
    once = fitted(method)
    assert bool(once.public) == once.plan.build().has_public_model
    assert all(np.array_equal(once.public[0], records) for records in once.public)


@every_method
def test_what_the_sampler_spends_is_spent_before_it_draws(method: str) -> None:
    plan = quick_plan(method)
    state = new_state(plan, seed=0)
    spent: list[tuple[str, int]] = []
    state.spend = lambda stage, step: spent.append((stage, step))
    sample(plan, state, 5)
    stages = plan.build().sampling_stages(plan.facts, SampleRequest(5))
    assert spent == [(stage.name, step) for stage in stages if stage.spent != "free" for step in range(1, stage.steps + 1)]


@every_method
def test_released_and_private_parts_are_named_and_apart(method: str) -> None:
    kind = methods.METHODS[method]
    plan = quick_plan(method)
    state = new_state(plan, seed=0)
    names = set(state.modules) | set(state.tensors)
    assert set(kind.released) <= names
    assert set(kind.kept_private) <= names
    assert not set(kind.released) & set(kind.kept_private)
    assert set(kind.quiet_parts) <= names
    assert not set(kind.quiet_parts) & {*plan.build().released_parts, *kind.kept_private}, "what quiet stages write leaves by no way"
    assert "key" not in json.dumps(list(state.part(kind.released)))
