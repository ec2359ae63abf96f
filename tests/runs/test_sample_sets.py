"""Sets of samples: drawn from the same weights by requests of their own, kept, measured and judged apart."""

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from support.homes import here
from support.notes import read_notes

from workbench.datasets import load
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.dp_merf import DPMERF
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.run import Run
from workbench.runs.samples import DEFAULT, SamplesRequest, sample_set, sample_sets
from workbench.runs.samples.drawn import request_samples
from workbench.runs.store import RunStore

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]


def test_a_request_has_one_form_and_refuses_what_training_reads(quick_plan: PlanMaker) -> None:
    plan = quick_plan("nonprivate")
    assert SamplesRequest.of(plan, {"sampler.eta": plan.config["sampler"]["eta"]}, plan.facts.classes).id == DEFAULT
    one = SamplesRequest.of(plan, {"sampler": {"eta": 0}}, ["3", "7"], 5)
    assert one == SamplesRequest.of(plan, {"sampler.eta": 0.0}, ["3", "7"], 5) == SamplesRequest.parse(one.text, "here")
    assert one.text == '{"labels": [3, 7], "seed": 5, "settings": {"sampler.eta": 0.0}}'
    assert one.id == hashlib.sha256(one.text.encode()).hexdigest()[:8], "the text decides the id: neither may change"
    assert one.id != SamplesRequest.of(plan, {"sampler.eta": 0.0}, ["7", "3"], 5).id
    assert one.summary(plan.facts.classes) == "sampler.eta=0.0; classes 3, 7; seed 5"
    for settings, message in (
        ({"ema_decay": 0.5}, "ema_decay is no field that nonprivate samples by; those are: sampler"),
        ({"sampler.beta": 1}, "Unknown field of SamplerConfig 'beta'"),
        ({"sampler.name": "ddpm", "sampler.eta": 0.5}, "Expected eta 1 for the ddpm sampler"),
        ({"sampler.num_inference_steps": 9000}, "at most the 1000 time steps"),
    ):
        with pytest.raises(WorkbenchError, match=message):
            SamplesRequest.of(plan, settings)
    with pytest.raises(WorkbenchError, match="Unknown class of digits 'cat'"):
        SamplesRequest.of(plan, labels=["cat"])
    with pytest.raises(WorkbenchError, match="those are: none"):
        SamplesRequest.of(quick_plan("dp-merf"), {"latent_size": 3})


def test_a_table_s_classes_come_as_learned_unless_they_are_balanced(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(make_plan("mst", load("breast-cancer").facts, epsilon=10.0))
    evenly = request_samples(here(), run.id, balanced=True)
    assert evenly.id == request_samples(here(), run.id, labels=run.plan.facts.classes).id != DEFAULT
    assert evenly.summary == "classes in equal shares"
    drawn, learned = evenly.records(6).labels, sample_set(here(), run.id).records(200).labels
    assert drawn is not None
    assert learned is not None
    assert drawn.tolist() == [0, 1] * 3
    assert learned.tolist() != [0, 1] * 100
    assert SamplesRequest.of(quick_plan("dp-merf"), balanced=True).id == DEFAULT, "which draws classes in equal shares anyway"
    with pytest.raises(WorkbenchError, match="classes or balanced ones, not both"):
        request_samples(here(), run.id, labels=["benign"], balanced=True)


def test_sets_are_drawn_apart_from_the_same_weights(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan("nonprivate"))
    default = sample_set(here(), run.id).records(6)
    options = {"settings": {"sampler.eta": 0.0}, "labels": ["4", "1"], "seed": 3}
    one = request_samples(here(), run.id, **options)
    with pytest.raises(WorkbenchError, match=f"no set of samples '{one.id}'. Choose one of: default"):
        sample_set(here(), run.id, one.id)
    drawn = one.records(4)
    assert drawn.labels is not None
    assert drawn.labels.tolist() == [4, 1, 4, 1]
    assert [samples.id for samples in sample_sets(here(), run.id)] == [DEFAULT, one.id]
    again = sample_set(here(), run.id, one.id)
    longer = again.records(5)
    assert np.array_equal(longer.records[:4], drawn.records)
    assert longer.labels is not None
    assert longer.labels.tolist() == [4, 1, 4, 1, 4]
    assert np.array_equal(sample_set(here(), run.id).records(6).records, default.records)
    notes = read_notes(again.file)
    assert (notes["samples"], notes["request"]) == (one.id, one.request.model_dump(mode="json"))
    again.file.unlink()
    assert np.array_equal(again.records(4).records, drawn.records)  # the seed names the stream
    again.file.unlink()
    other = request_samples(here(), run.id, **(options | {"seed": 4}))
    assert not np.array_equal(other.records(4).records, drawn.records)


def test_a_set_is_measured_and_searched_beside_its_samples(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan("nonprivate"))
    one = request_samples(here(), run.id, {"sampler.eta": 0.0})
    one.records(20)
    measured = finished.evaluate_run(here(), run.id, 20, metrics=["nearer_to_training"], samples=one.id)
    assert (measured["samples"], finished.kept_evaluation(here(), run.id, one.id)) == (one.id, measured)
    assert finished.kept_evaluation(here(), run.id) is None
    finished.neighbours_run(here(), run.id, num_samples=20, samples=one.id)
    assert one.neighbours("pixels", 5, 20).exists()
    assert not sample_set(here(), run.id).neighbours("pixels", 5, 20).exists()
    assert sample_set(here(), run.id).kept_records() is None


def test_only_ids_of_sets_become_paths(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    for text in ("../../x", "", "ABCDEF01", "default/"):
        with pytest.raises(WorkbenchError, match="a set of samples by its 8 digits"):
            sample_set(here(), run.id, text)


def test_a_set_whose_sampler_pays_is_priced_before_it_is_drawn(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sampling_stages(method: DPMERF, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        event = method.stages(facts)[0].event
        return [Stage("guidance", event, "per_step", steps=request.num_samples, relations=("REPLACE_ONE", "REPLACE_SPECIAL"))]

    monkeypatch.setattr(DPMERF, "sampling_stages", sampling_stages)
    run = train_here(quick_plan())
    one = request_samples(here(), run.id, labels=["2"])
    price = one.plan(4)
    assert [stage.steps for stage in price.stages] == [4]
    assert run.bound.epsilon < price.bound.epsilon < one.plan(8).bound.epsilon
    assert RunStore(here()).get(run.id).bound == run.bound
    one.records(4)
    assert RunStore(here()).get(run.id).bound == price.bound
    assert [entry.run_id for entry in Ledger(here().ledger).entries() if entry.purpose == "sampling"] == [f"{run.id}-samples-{one.id}-0-4"]
    assert one.plan(4).releases == ()
    sample_set(here(), run.id).records(2)
    assert RunStore(here()).get(run.id).bound.epsilon > price.bound.epsilon
    with pytest.raises(WorkbenchError, match="Expected no seed"):
        request_samples(here(), run.id, seed=1).records(2)
