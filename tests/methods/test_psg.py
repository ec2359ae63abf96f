"""PSG: the published vectors, that images follow noisy gradients alone, and that a clean gradient makes them like the records."""

import itertools

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan
from torch import nn

from workbench.datasets import DatasetFacts, facts, load
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.psg import training
from workbench.methods.psg.method import MATCHING, Classifier
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.records import ImageKind, Records
from workbench.training.kept_gradient import KeptGradient

MNIST, DIGITS = facts("mnist"), load("digits")


@pytest.mark.parametrize(
    ("preset", "claim", "bound"),
    [
        ("published-of-1", 10, 8.03),
        ("published-of-10", 10, 8.53),
        ("published", 10, 8.54),
        ("published-of-1-1", 1, 0.739),
        ("published-of-10-1", 1, 0.741),
        ("published-1", 1, 0.742),
    ],
)
def test_published_settings_claim_what_the_paper_claims(preset: str, claim: float, bound: float) -> None:
    """By the conversion of libraries before 2022; PLD proves less."""
    plan = make_plan("psg", MNIST, preset=preset, target="claim")
    assert plan.claim.epsilon == pytest.approx(claim, rel=5e-5)
    assert plan.bound.epsilon == pytest.approx(bound, rel=2e-3)


@pytest.mark.parametrize(("preset", "rdp"), [("published-of-1", 9.04), ("published-of-10", 9.18), ("published", 9.19)])
def test_todays_conversion_proves_less_of_the_same_steps(preset: str, rdp: float) -> None:
    (matching,) = make_plan("psg", MNIST, preset=preset, target="claim").stages
    assert ACCOUNTANTS["rdp"].epsilon(mechanisms(matching.total(), "REPLACE_SPECIAL"), 1e-5) == pytest.approx(rdp, abs=5e-3)


def test_the_optimiser_keeps_the_gradient_and_moves_nothing() -> None:
    linear = nn.Linear(3, 2)
    before = linear.weight.detach().clone()
    kept = KeptGradient(linear)
    linear(torch.ones(1, 3)).sum().backward()
    kept.step()
    assert torch.equal(linear.weight, before)
    assert torch.equal(kept.gradients[0], torch.ones(2, 3))


def test_the_distance_is_of_directions_by_output() -> None:
    one = [torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.ones(2)]
    assert float(training.distance(one, [5.0 * one[0], -one[1]])) == pytest.approx(0.0, abs=1e-5), "biases are left out"
    assert float(training.distance(one, [one[0] * torch.tensor([[1.0], [-1.0]]), one[1]])) == pytest.approx(2.0, abs=1e-5)


def test_a_step_moves_images_by_its_gradient_and_classifiers_change_on_time() -> None:
    """Two gradients at a state, two states of a classifier: learned after steps 2, drawn anew after step 4."""
    plan = quick_plan("psg")
    state = new_state(plan, seed=0)
    network, weights, images = state.modules["network"], [], []
    for step in fit(plan, quick_dataset("psg"), state):
        assert step.stage == MATCHING
        weights.append(network[0].weight.detach().clone())  # pyright: ignore[reportIndexIssue]
        images.append(state.tensors["images"].clone())
    same = [torch.equal(one, two) for one, two in itertools.pairwise(weights)]
    assert same == [False, True, False, True], "learned in step 2, drawn in step 4"
    assert all(not torch.equal(one, two) for one, two in itertools.pairwise(images))


def test_without_noise_images_teach_what_the_records_do() -> None:
    """Two classes by the side that is bright: a few images that follow next to clean gradients are bright on that side."""
    labels = np.arange(80, dtype=np.int64) % 2
    images = np.zeros((80, 1, 4, 4), np.uint8)
    images[labels == 0, :, :, :2], images[labels == 1, :, :, 2:] = 255, 255
    known = DatasetFacts(name="sides", kind=ImageKind(size=(1, 4, 4)), num_records=80, classes=("left", "right"))
    settings = {"images": 2, "matching": {"noise_multiplier": 0.01, "batch_size": 80, "steps": 30, "learning_rate": 2.0}}
    plan = make_plan("psg", known, settings={**settings, "classifier": {"blocks": 1, "width": 8}, "teaching.inner_steps": 2})
    state = new_state(plan, seed=0)
    for _ in plan.build().fit(Records(images, labels), None, state):
        pass
    made = sample(plan, state, 40)
    assert made.labels is not None
    sides = made.records[..., :2].mean(axis=(1, 2, 3)) - made.records[..., 2:].mean(axis=(1, 2, 3))
    assert sides[made.labels == 0].mean() > 20
    assert sides[made.labels == 1].mean() < -20


def test_classifiers_keep_records_apart_and_fit_the_images() -> None:
    network = training.new_classifier(Classifier(blocks=2, width=4), DIGITS.facts)
    batch = torch.randn(3, 1, 8, 8)
    assert torch.allclose(network(batch)[1:2], network(batch[1:2]), atol=1e-6)
    with pytest.raises(WorkbenchError, match="16 pixels a side or more for 4 blocks"):
        make_plan("psg", DIGITS.facts, epsilon=10.0, settings={"classifier.blocks": 4})


@pytest.mark.parametrize(("known", "expected"), [(DIGITS.facts, (1, 4, 2_000, 15.0)), (MNIST, (3, 16, 600, 5.0))], ids=["8x8", "28x28"])
def test_defaults_are_those_that_were_measured(known: DatasetFacts, expected: tuple[float, ...]) -> None:
    """The smaller classifier and the longer moves were chosen on 8x8 pixels, and are for small images alone."""
    config = make_plan("psg", known, epsilon=10.0).config
    classifier, matching = config["classifier"], config["matching"]
    assert (classifier["blocks"], classifier["width"], matching["steps"], matching["learning_rate"]) == expected


def test_one_class_has_no_classifier() -> None:
    known = DIGITS.facts.model_copy(update={"classes": ()})
    with pytest.raises(WorkbenchError, match="two classes or more"):
        make_plan("psg", known, epsilon=10.0)


def test_noise_is_what_images_of_a_class_do_not_share() -> None:
    """Normals that a class shares are no noise; normals of an image's own are, wherever they come from; of one image, the first of them."""
    plan = quick_plan("psg")
    state, built = new_state(plan, seed=0), plan.build()
    assert (built.noise_share(state) or 0.0) > 0.9, "images that stay what they began as"
    drawn = torch.Generator().manual_seed(0)
    classes = state.facts.num_classes
    shared, own = (torch.randn(classes, count, *state.facts.shape, generator=drawn) for count in (1, 20))
    state.tensors["images"] = 2.0 * shared + own
    assert built.noise_share(state) == pytest.approx(1 / 5, rel=0.1)
    state.tensors["images"] = 2.0 * (shared + own)
    assert built.noise_share(state) == pytest.approx(1 / 2, rel=0.1), "moved farther by noise"
    state.tensors["images"] = 3.0 * shared
    assert built.noise_share(state) == pytest.approx(1 / 9, rel=0.2), "one image a class"
