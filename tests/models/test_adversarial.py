"""Losses by hand, a generator's step that leaves the critic as it is, and turns that go on where they stopped."""

import math
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from workbench.datasets import digits as digits_dataset
from workbench.datasets.base import DatasetFacts
from workbench.models.adversarial.config import AdversarialLoss, GeneratorUpdates
from workbench.models.adversarial.losses import CRITIC_LOSSES, GENERATOR_LOSSES
from workbench.models.adversarial.turns import drawn, frozen, generator_loss, generator_trainer, take_turns
from workbench.models.embeddings.config import GENERATOR
from workbench.networks import ConditionalGenerator, Critic, CriticConfig, initialized
from workbench.training.randomness import Randomness
from workbench.training.state import State, Step


def digits() -> DatasetFacts:
    return digits_dataset.facts()


def new_state() -> State:
    state = State(digits(), Randomness.from_seed(0))
    draw = torch.Generator().manual_seed(0)
    generator = initialized(lambda: ConditionalGenerator((1, 8, 8), 10, 4, hidden=8, width=2), draw)
    critic = initialized(lambda: Critic(CriticConfig(width=2, hidden_size=4), (1, 8, 8), 10), draw)
    state.modules = {GENERATOR: generator, "critic": critic}
    state.optimizers = {GENERATOR: torch.optim.Adam(generator.parameters())}
    return state


@pytest.mark.parametrize(
    ("loss", "real", "fake", "generated"),
    [
        ("bce", math.log1p(math.exp(-0.5)), math.log1p(math.exp(0.5)), math.log1p(math.exp(-0.5))),
        ("hinge", 0.5, 1.5, -0.5),
        ("wasserstein", -0.5, 0.5, -0.5),
    ],
)
def test_losses_of_a_score_of_one_half(loss: AdversarialLoss, real: float, fake: float, generated: float) -> None:
    scores = torch.tensor([0.5, 0.5])
    torch.testing.assert_close(CRITIC_LOSSES[loss](scores, torch.tensor([True, False])), torch.tensor([real, fake]))
    torch.testing.assert_close(GENERATOR_LOSSES[loss](scores), torch.tensor([generated] * 2))


def test_the_hinge_is_flat_beyond_one() -> None:
    losses = CRITIC_LOSSES["hinge"](torch.tensor([2.0, -2.0]), torch.tensor([True, False]))
    assert torch.equal(losses, torch.zeros(2))


def test_a_generators_step_gives_the_critic_no_gradient_and_leaves_it_trainable() -> None:
    state = new_state()
    generator, critic = state.modules[GENERATOR], state.modules["critic"]
    generator_loss(generator, critic, "bce", *drawn(state, 6, 4, "latents")).backward()
    assert all(parameter.grad is None and parameter.requires_grad for parameter in critic.parameters())
    assert any(float(parameter.grad.abs().max()) > 0 for parameter in generator.parameters() if parameter.grad is not None)


def test_what_was_frozen_before_stays_frozen() -> None:
    module = nn.Linear(1, 1)
    module.bias.requires_grad_(False)
    with frozen(module):
        assert not module.weight.requires_grad
    assert module.weight.requires_grad
    assert not module.bias.requires_grad


def test_draws_follow_purpose_and_step_alone() -> None:
    state = new_state()
    latents, classes = drawn(state, 500, 4, "a", 1)
    assert latents.shape == (500, 4)
    assert sorted(classes.unique().tolist()) == list(range(10))
    again, _ = drawn(state, 500, 4, "a", 1)
    assert torch.equal(latents, again)
    assert not torch.equal(latents, drawn(state, 500, 4, "a", 2)[0])


def turns(state: State, critic_steps: int, per_turn: int) -> Iterator[str]:
    trainer = generator_trainer(
        GeneratorUpdates(critic_steps=per_turn, batch_size=4), critic_steps, state.modules["critic"], "bce", 4, state
    )

    def critic_step(step: int) -> Step:
        state.steps["critic"] = step
        return Step("critic", step, critic_steps)

    return (step.stage[0] for step in take_turns("critic", critic_step, critic_steps, trainer, per_turn, state))


def test_a_generators_step_after_so_many_of_the_critic() -> None:
    assert "".join(turns(new_state(), 7, 3)) == "cccgcccgc"


@pytest.mark.parametrize("done", range(9))
def test_turns_go_on_where_they_stopped(done: int) -> None:
    state = new_state()
    first = turns(state, 7, 3)
    before = "".join(next(first) for _ in range(done))
    assert before + "".join(turns(state, 7, 3)) == "cccgcccgc"
