"""PATE-GAN: the vectors of PATE, that a record is one teacher's alone, what it moves of the votes, and what its true votes say."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from dp_accounting import dp_event
from support.quick import quick_dataset, quick_plan

from workbench.datasets import facts
from workbench.experiment import fit, new_state
from workbench.methods.pate_gan import PATEGAN, PATEGANConfig, training
from workbench.methods.pate_gan.method import lnmax_moments
from workbench.methods.protocols import DataDependentEpsilon, offered_features
from workbench.models.teachers.config import TEACHERS, VOTES
from workbench.models.teachers.ensemble import PartsInPlace, ballots_of, teachers_of
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants.reading import leaves
from workbench.privacy.accounting.stages import compose
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.parts import Parts
from workbench.training.randomness import Randomness
from workbench.training.state import State

ROUND = {"student.updates": 10, "training.batch_size": 10, "teachers.number": 30}


def planned(noise: str, noise_multiplier: float, rounds: int) -> Plan:
    """A plan of 100 labels a round at delta 1e-5."""
    settings = {**ROUND, "noise": noise, "noise_multiplier": noise_multiplier, "training.steps": rounds}
    return make_plan("pate-gan", facts("digits"), delta=1e-5, settings=settings)


@pytest.mark.parametrize(
    ("rate", "labels", "basic", "moments", "bound"), [(0.05, 1000, 100.0, 20.756, 17.787), (0.01, 10_000, 200.0, 11.756, 9.995)]
)
def test_laplace_votes_cost_what_pure_composition_says(rate: float, labels: int, basic: float, moments: float, bound: float) -> None:
    """2 lambda a label, added up; nothing of the count of labels may get lost on the way to the accountant."""
    plan = planned("laplace", 1 / (2 * rate), labels // 100)
    ((label, count),) = leaves(compose(plan.stages))
    assert isinstance(label, dp_event.DiscreteLaplaceDpEvent)
    assert count == labels
    assert count * label.noise_parameter * label.sensitivity == pytest.approx(basic)
    assert lnmax_moments(rate, labels, 1e-5, "").epsilon == plan.claim.epsilon == pytest.approx(moments, rel=1e-4)
    assert plan.bound.epsilon == pytest.approx(bound, rel=1e-4)
    assert plan.bound.neighboring_relation == "REPLACE_SPECIAL"


@pytest.mark.parametrize(("deviation", "labels", "rdp", "exact"), [(100.0, 1000, 1.9142, 1.7601), (40.0, 300, 2.7139, 2.5017)])
def test_gaussian_votes_are_exact_whatever_a_round_holds(deviation: float, labels: int, rdp: float, exact: float) -> None:
    """Two counts with noise s are one with noise s / sqrt(2)."""
    plan = planned("gaussian", deviation / 2**0.5, labels // 100)
    assert plan.claim.epsilon == pytest.approx(rdp, rel=1e-4)
    assert plan.bound.epsilon == pytest.approx(exact, rel=1e-4)


def test_2000_gaussian_votes_at_ten_need_noise_of_31_6() -> None:
    epsilons = [planned("gaussian", deviation / 2**0.5, 20).bound.epsilon for deviation in (31.65, 31.55)]
    assert epsilons[0] < 10.0 < epsilons[1]


def test_the_published_form_claims_less_than_its_own_worst_case_alone_where_votes_are_looked_at() -> None:
    plan = make_plan("pate-gan", facts("mnist"), preset="published", target="claim")
    assert plan.config["teachers"]["number"] == 60
    assert plan.claim.epsilon == pytest.approx(lnmax_moments(0.05, 960, 1e-5, "").epsilon)
    assert f"{plan.claim.epsilon:.3f}, is no number that the paper prints" in PATEGAN.presets["published"].description
    assert 0.8 * plan.claim.epsilon < plan.bound.epsilon < plan.claim.epsilon


def taught(data: Records) -> tuple[State, np.ndarray]:
    """A state after the first round of teachers, and the counts of votes."""
    plan, randomness = quick_plan("pate-gan"), Unnoised.from_seed(0)
    state = new_state(plan, seed=0)
    state.randomness = randomness
    for step in fit(plan, replace(quick_dataset("pate-gan"), train=data), state):
        if step.stage == VOTES:
            break
    return state, state.tensors[VOTES].numpy().copy()


class Unnoised(Randomness):
    """Votes without their noise."""

    def release(self, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        """The sum as it is."""
        return grid.values(total)


def changed(data: Records, position: int) -> Records:
    """Another record at a position, of another class."""
    records, labels = data.records.copy(), data.labels
    assert labels is not None
    records[position] = 255 - records[position]
    return Records(records, np.where(np.arange(len(labels)) == position, (labels + 1) % 10, labels))


@pytest.mark.parametrize("position", [0, 7, 1234])
def test_a_record_changes_its_own_teacher_and_no_other_to_the_last_bit(position: int) -> None:
    data = quick_dataset("pate-gan").train
    before, counts = taught(data)
    part = position % 5
    assert Parts.of(before, 5, len(data)).of_record[position] == part
    every = [place for place in range(len(data)) if place % 5 == part]  # all of its part, so that some are drawn
    others = data
    for place in every:
        others = changed(others, place)
    for other in (others, data.without(np.array(every))):
        after, moved = taught(other)
        for name, weights in teachers_of(before).named_parameters():
            there = dict(teachers_of(after).named_parameters())[name]
            alike = [torch.equal(one, two) for one, two in zip(weights, there, strict=True)]
            assert alike == [number != part for number in range(5)], name
        assert np.abs(moved - counts).max() <= 1.0


def test_parts_are_disjoint_all_of_the_records_and_drawn_from_alone() -> None:
    plan, data = quick_plan("pate-gan"), quick_dataset("pate-gan").train
    state = new_state(plan, seed=0)
    config = plan.build().config
    assert isinstance(config, PATEGANConfig)
    parts = PartsInPlace.of(config.teachers, data, state)
    seen = [set(row[:size].tolist()) for row, size in zip(parts.positions, parts.sizes.tolist(), strict=True)]
    assert sorted(place for part in seen for place in part) == list(range(len(data)))
    drawn, present = parts.batch(400, torch.Generator().manual_seed(0))
    assert present.all()
    for part, inputs in enumerate(drawn):
        mine = {row.numpy().tobytes() for row in parts.inputs[sorted(seen[part])]}
        assert {row.numpy().tobytes() for row in inputs} <= mine


def test_the_last_draw_of_a_smaller_part_is_of_its_own_last_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform number that rounds to 1 with the size of its part draws the last record of it, not what pads it."""
    inputs = torch.arange(7.0)[:, None]
    parts = PartsInPlace(inputs, torch.ones(7, dtype=torch.bool), torch.tensor([[0, 3, 6], [1, 4, 0], [2, 5, 0]]), torch.tensor([3, 2, 2]))
    monkeypatch.setattr(torch, "rand", lambda *size, generator: torch.ones(size))
    assert parts.batch(2, torch.Generator())[0][..., 0].tolist() == [[6, 6], [4, 4], [5, 5]]


def test_inputs_are_scaled_by_no_record() -> None:
    plan, data = quick_plan("pate-gan"), quick_dataset("pate-gan").train
    config = plan.build().config
    assert isinstance(config, PATEGANConfig)
    dark = Records(np.where(np.arange(len(data))[:, None, None, None] == 3, data.records, 0).astype(np.uint8), data.labels)
    there, here = (PartsInPlace.of(config.teachers, one, new_state(plan, seed=0)).inputs[3] for one in (data, dark))
    assert torch.equal(there, here)


def test_students_learn_the_side_that_the_noisy_count_is_on() -> None:
    """Noise alone decides: with all counts above half the student takes images for records, with all below for generated ones."""
    plan = quick_plan("pate-gan", overrides={"student.learning_rate": 0.05})
    config, scores = plan.build().config, []
    assert isinstance(config, PATEGANConfig)
    for count in (5.0, 0.0):
        state = new_state(plan, seed=0)
        training.rounds.ask(config, config.labels_of_round, state, 1)
        state.tensors[VOTES].fill_(count)
        for _ in range(30):
            training.learn(config, state)
        images, classes = training.rounds.queried_images(state)
        scores.append(float(state.modules["student"](training.beside(images, classes, state)).detach().mean()))
    assert scores[0] > 1.0
    assert scores[1] < -1.0


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_true_votes_are_kept_for_the_holder_alone_and_say_less_where_teachers_agree(noise: str) -> None:
    plan = quick_plan("pate-gan", epsilon=None, overrides={"noise": noise, "noise_multiplier": 1.0, "teachers.number": 60})
    method, state = plan.build(), new_state(plan, seed=0)
    assert isinstance(method, DataDependentEpsilon)
    assert "not releasable" in " ".join(offered_features(method))
    assert not {"ballots", TEACHERS, VOTES} & set(method.released_parts)
    for _ in fit(plan, quick_dataset("pate-gan"), state):
        pass
    counts = ballots_of(state).counts
    assert counts.shape == (3, 8)
    values = {}
    for name, votes in (("agreed", 60), ("tied", 30)):
        counts.fill_(votes)
        values[name] = method.vote_gap_epsilon(state, 1e-5)
    assert values["tied"].epsilon == pytest.approx(values["tied"].worst_case) == values["agreed"].worst_case
    assert values["agreed"].epsilon < 0.8 * values["agreed"].worst_case
