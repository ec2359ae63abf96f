"""Triples by randomised response: how often the true record answers, who the candidates are, where the direction points, what it shows."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.datasets import load
from workbench.models.recovery.config import Responses, keep_probability
from workbench.models.recovery.scores import energy_losses, recovery_direction
from workbench.models.recovery.triples import batches, make_triples, own_first, respond
from workbench.records import Records
from workbench.training.randomness import Randomness

LEVELS = np.array([1.0, 0.5, 0.01])


def settings(epsilon: float = 10.0, **values: Any) -> Any:
    return SimpleNamespace(responses=Responses(**{"epsilon": epsilon, "num_candidates": 4, "rounds": 1} | values))


@pytest.fixture(scope="module")
def digits() -> Records:
    return load("digits").train.take(slice(200))


@pytest.mark.parametrize(
    ("epsilon", "k", "kept"),
    [(1, 64, 0.041), (5, 64, 0.702), (10, 64, 0.997), (1, 256, 0.0105), (5, 256, 0.368), (10, 256, 0.9886), (0, 64, 1 / 64)],
)
def test_frequencies_of_randomised_response(epsilon: float, k: int, kept: float) -> None:
    assert keep_probability(epsilon, k) == pytest.approx(kept, abs=6e-4)
    count = 40_000
    drawn = np.bincount(respond(epsilon, k, count, Randomness.from_seed(0)), minlength=k)
    deviation = np.sqrt(count * keep_probability(epsilon, k) * (1 - keep_probability(epsilon, k)))
    assert abs(drawn[0] - count * keep_probability(epsilon, k)) < 4 * deviation + 1
    other = count * (1 - keep_probability(epsilon, k)) / (k - 1)
    assert np.abs(drawn[1:] - other).max() < 5 * np.sqrt(other) + 2, "every other candidate alike"


def test_an_epsilon_of_a_thousand_always_keeps_the_true_one() -> None:
    assert respond(1e3, 64, 1000, Randomness.from_seed(1)).max() == 0


@pytest.mark.parametrize("candidates", ["neighbours", "batch"])
@pytest.mark.parametrize("conditional", [True, False])
def test_responses_are_records_and_of_one_class_where_labels_are_kept(digits: Records, candidates: str, conditional: bool) -> None:
    made = make_triples(settings(0.0, candidates=candidates, conditional=conditional), digits, LEVELS, Randomness.from_seed(0))
    assert digits.labels is not None
    known = {record.tobytes(): int(label) for record, label in zip(digits.records, digits.labels, strict=True)}
    answered = [known[response.tobytes()] for response in made.responses.numpy()]  # every one of them, verbatim
    if conditional:
        assert [label + 1 for label in answered] == made.rows.tolist()
    else:
        assert set(made.rows.tolist()) == {0}


def test_the_true_record_comes_first_among_its_neighbours() -> None:
    near = np.array([[0, 1], [0, 1], [1, 3], [3, 2]])  # 1 lost its place to a copy, 2 was pushed out
    assert own_first(near).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]


def test_batches_are_shared_by_their_members() -> None:
    group = np.arange(100, 110)
    drawn = batches(10, 4, Randomness.from_seed(3), 0, group)
    assert drawn[:, 0].tolist() == group.tolist()
    assert all(len(set(row)) == 4 for row in drawn)
    sets = {frozenset(row) for row in drawn}
    assert len(sets) == 3, "two batches of four, and the last two with two of the first"


def test_a_planted_triple_is_recovered() -> None:
    """The score that costs nothing leads from the noised record to its response, and away from nothing else."""
    noised, response = torch.full((1, 1, 2, 2), 0.7), torch.full((1, 1, 2, 2), -0.5)
    sigma = torch.full((1, 1, 1, 1), 0.5)
    direction = recovery_direction(noised, response, sigma)
    assert torch.allclose(noised - sigma.square() * direction, response)
    assert energy_losses(-sigma * direction, noised, response, sigma, "variance").tolist() == pytest.approx([0.0])
    wrong = sigma * direction  # the sign that the text of P3DM prints
    assert energy_losses(wrong, noised, response, sigma, "variance").item() == pytest.approx(0.5 * (2 * 1.2 / 0.5) ** 2)
    assert energy_losses(wrong, noised, response, sigma, "none").item() == pytest.approx(0.5 * (2 * 1.2 / 0.5) ** 2 / 0.25)


def test_one_triple_gives_a_record_away(digits: Records) -> None:
    """With the record some triple shows it verbatim; without it none can, whatever is drawn: no epsilon joins the two."""
    recovery, planted = settings(10.0), digits.records[7]

    def shown(data: Records, seed: int) -> bool:
        return bool(
            (make_triples(recovery, data, LEVELS, Randomness.from_seed(seed)).responses.numpy() == planted).all(axis=(1, 2, 3)).any()
        )

    assert all(shown(digits, seed) for seed in range(3))
    assert not any(shown(digits.without(np.array([7])), seed) for seed in range(3))


def test_noise_is_that_of_the_level(digits: Records) -> None:
    made = make_triples(settings(1e3, rounds=5), digits, LEVELS, Randomness.from_seed(0))
    clean = made.responses.float() / 127.5 - 1
    assert made.noised.shape == clean.shape, "each triple has noise of its own"
    for position, level in enumerate(LEVELS):
        chosen = made.levels == position
        assert float((made.noised - clean)[chosen].std()) == pytest.approx(level, rel=0.05)
        assert float(chosen.double().mean()) == pytest.approx(1 / 3, abs=0.06)
