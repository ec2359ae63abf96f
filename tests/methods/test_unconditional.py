"""dp-promise without labels, on records that have some: no stage reads one, and no sample carries one."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.homes import here
from support.quick import quick_dataset, quick_plan

from workbench.errors import WorkbenchError
from workbench.experiment import new_state, sample
from workbench.models.image_diffusion import UNCONDITIONAL
from workbench.networks import UNet
from workbench.plan import Plan
from workbench.records import Records
from workbench.runs.samples import SamplesRequest
from workbench.training.state import State
from workbench.training_data import pretraining_records

WITHOUT = {"conditional": False}


def fitted(plan: Plan, private: Records, public: Records) -> State:
    state = new_state(plan, seed=0)
    for _ in plan.build().fit(private, public, state):
        pass
    return state


def relabelled(records: Records) -> Records:
    assert records.labels is not None
    return replace(records, labels=(records.labels + 3) % 10)


@pytest.mark.parametrize("conditional", [True, False])
def test_labels_decide_nothing_without_them_and_the_weights_with_them(conditional: bool) -> None:
    plan = quick_plan("dp-promise", overrides={"conditional": conditional})
    private, public = quick_dataset("dp-promise").train, pretraining_records(plan, here())
    assert public is not None
    as_they_are, public_others, private_others = (
        fitted(plan, *records).modules["ema"].state_dict()
        for records in ((private, public), (private, relabelled(public)), (relabelled(private), public))
    )
    for others in (public_others, private_others):
        assert all(torch.equal(value, others[name]) for name, value in as_they_are.items()) is not conditional


def test_the_network_is_asked_for_no_class_and_samples_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: set[int] = set()
    forward = UNet.forward

    def watched(network: UNet, x: torch.Tensor, t: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        rows.update([UNCONDITIONAL] if labels is None else labels.tolist())
        return forward(network, x, t, labels)

    monkeypatch.setattr(UNet, "forward", watched)
    plan = quick_plan("dp-promise", overrides=WITHOUT | {"sampler.guidance_scale": 2.0})
    public = pretraining_records(plan, here())
    assert public is not None
    state = fitted(plan, quick_dataset("dp-promise").train, public)
    drawn = sample(plan, state, 7)
    assert (drawn.records.shape, drawn.labels) == ((7, 1, 8, 8), None)
    assert sample(plan, state, 7, source="public", labels=np.arange(7)).labels is None
    assert rows == {UNCONDITIONAL}


def test_no_class_can_be_asked_for() -> None:
    plan = quick_plan("dp-promise", overrides=WITHOUT)
    with pytest.raises(WorkbenchError, match="planned without labels"):
        SamplesRequest.of(plan, labels=["3"])
    assert SamplesRequest.of(plan).id == "default"
    assert SamplesRequest.of(quick_plan("dp-promise"), labels=["3"]).labels == (3,)


def test_its_releases_are_those_with_labels() -> None:
    """What is proved counts no label as free: both plans have the same stages and the same bound."""
    with_labels, without = quick_plan("dp-promise"), quick_plan("dp-promise", overrides=WITHOUT)
    assert with_labels.releases == without.releases
    assert with_labels.bound == without.bound
