"""GS-WGAN: published numbers, distances of releases, who learns when, and what no critic may tell."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from support.quick import QUICK, quick_dataset

from workbench import datasets
from workbench.errors import WorkbenchError
from workbench.experiment import new_state
from workbench.methods.fields import with_values
from workbench.methods.gs_wgan import training
from workbench.methods.gs_wgan.method import CRITICS, GENERATOR, GRADIENTS, GSWGANConfig, claimed, release_stage, without_replacement
from workbench.planning import make_plan
from workbench.privacy import proved_bound
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.accountants.mechanisms import ExactGaussian, FixedBatchGaussian, VisibleGaussian
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import epsilon_poisson_gaussian
from workbench.privacy.accounting.events import DrawnPartGaussianDpEvent
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.persons import of_persons
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.zero_out import zero_out
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.parts import Parts
from workbench.training.randomness import Randomness
from workbench.training.state import State, Step

DATA = quick_dataset("gs-wgan")


def stage(steps: int, parts: int, images: int, noise_multiplier: float, drawn: str = "secret") -> Stage:
    """The paid stage at these settings."""
    values = {"steps": steps, "batch_size": images, "noise_multiplier": noise_multiplier, "drawn": drawn}
    return release_stage(GSWGANConfig.model_validate({"critics": {"parts": parts}, "release": values}))


@pytest.mark.parametrize(
    ("steps", "parts", "images", "noise_multiplier", "drawn", "epsilon"),
    [
        (20_000, 1_000, 32, 1.07, "secret", 346.7),
        (20_000, 1_000, 32, 1.07, "trained", 610.3),
        (20_000, 1_000, 32, 0.47, "secret", 2769),
        (20_000, 1_000, 32, 2.63, "secret", 10),
        (20_000, 1_000, 32, 5.38, "secret", 1),
        (600, 15, 10, 3.76, "secret", 10),
        (300, 15, 8, 2.71, "secret", 10),
    ],
)
def test_bounds_are_those_computed_elsewhere(
    steps: int, parts: int, images: int, noise_multiplier: float, drawn: str, epsilon: float
) -> None:
    """By scripts of ours with dp-accounting 0.6.0 (the notes' vectors); multipliers for 10 and 1 have three digits."""
    bound = proved_bound([stage(steps, parts, images, noise_multiplier, drawn)], 1e-5)
    assert bound.status == "proved"
    assert bound.epsilon == pytest.approx(epsilon, rel=0.02 if epsilon == 1 else 3e-3)


def test_other_accountants_bound_a_secret_draw_too() -> None:
    composition = mechanisms(stage(20_000, 1_000, 32, 2.63).total(), "REPLACE_ONE")
    assert ACCOUNTANTS["rdp"].epsilon(composition, 1e-5) == pytest.approx(14.2, abs=0.05)
    assert ACCOUNTANTS["gdp"].epsilon(composition, 1e-5) == pytest.approx(10.0, abs=0.05), "an approximation"


def test_images_that_each_had_a_draw_would_cost_what_the_claim_is_by_todays_conversion() -> None:
    """The 640 000 releases that the paper counts, without replacement and by the Poisson form, which does not fit."""
    alone = mechanisms(stage(20_000 * 32, 1_000, 1, 1.07).total(), "REPLACE_ONE")
    assert ACCOUNTANTS["rdp"].epsilon(alone, 1e-5) == pytest.approx(9.243, abs=5e-4)
    assert poisson_rdp(1.07, 20_000 * 32) == pytest.approx(4.450, abs=5e-4)


def test_the_poisson_form_of_the_steps_says_less_than_is_true() -> None:
    """329.4 where 346.7 is proved: the profile of one release among neighbours that have a record more or less."""
    poisson = epsilon_poisson_gaussian(1.07 / math.sqrt(32), 1e-3, 20_000, 1e-5)
    assert poisson["pld"] == pytest.approx(329.4, abs=0.05)


def test_a_calibration_that_forgets_the_images_of_a_step_finds_a_sixth_of_the_noise() -> None:
    """s = .470 to three digits is what "10" by SG(1/K, s, T) asks for; what it is worth is above, 2769."""
    assert poisson_rdp(0.4705, 20_000) < 10.0 < poisson_rdp(0.4695, 20_000)


def poisson_rdp(noise_multiplier: float, steps: int) -> float:
    """Steps that draw one in 1000 by Poisson sampling."""
    return poisson_gaussian_rdp(noise_multiplier=noise_multiplier, sample_rate=1e-3, steps=steps, delta=1e-5, source="").epsilon


def test_a_draw_among_one_part_is_none_and_add_or_remove_is_refused() -> None:
    assert mechanisms(DrawnPartGaussianDpEvent(1, 2.0, False), "REPLACE_ONE") == {ExactGaussian(0.5): 1}
    for relation in ("REPLACE_ONE", "REPLACE_SPECIAL"):
        assert mechanisms(DrawnPartGaussianDpEvent(4, 2.0, False), relation) == {FixedBatchGaussian(4, 1, 0.5): 1}
        assert mechanisms(DrawnPartGaussianDpEvent(4, 2.0, True), relation) == {VisibleGaussian(0.25, 0.5): 1}
        assert zero_out(DrawnPartGaussianDpEvent(4, 2.0, False)) == DrawnPartGaussianDpEvent(4, 2.0, False), "no less for a null record"
        for parts in (0, 2.5):
            with pytest.raises(WorkbenchError, match="whole number of parts"):
                mechanisms(DrawnPartGaussianDpEvent(parts, 2.0, True), relation)  # pyright: ignore[reportArgumentType]
    assert set(stage(10, 4, 8, 2.0).relations) == {"REPLACE_SPECIAL", "REPLACE_ONE"}
    added = Stage("a", DrawnPartGaussianDpEvent(4, 2.0, False), "once", relations=("ADD_OR_REMOVE_ONE",))
    assert proved_bound([added], 1e-5).epsilon == math.inf


@pytest.mark.parametrize("drawn", ["secret", "trained"])
def test_nothing_is_proved_of_a_person_with_rows_in_several_parts(drawn: str) -> None:
    bound = proved_bound(of_persons([stage(10, 4, 8, 2.0, drawn)], 2, "who"), 1e-5)
    assert (bound.epsilon, bound.status) == (math.inf, "not_proved")


def test_the_published_preset_claims_what_the_paper_does() -> None:
    plan = make_plan("gs-wgan", datasets.facts("mnist"), preset="published", target="claim")
    assert plan.claim.epsilon == pytest.approx(9.9926, abs=5e-5)
    assert plan.claim.status == "approximation"
    assert plan.bound.epsilon == pytest.approx(610.3, rel=1e-3)
    assert "draws public" in plan.bound.reason


@pytest.mark.parametrize(("sample_rate", "noise_multiplier", "order"), [(1e-3, 1.07, 4), (0.1, 3.0, 7), (0.02, 0.9, 2)])
def test_the_claims_formula_written_out(sample_rate: float, noise_multiplier: float, order: int) -> None:
    def rho(j: int) -> float:
        return j / (2 * noise_multiplier**2)

    total = 1 + sample_rate**2 * math.comb(order, 2) * min(4 * math.expm1(rho(2)), 2 * math.exp(rho(2)))
    total += sum(2 * sample_rate**j * math.comb(order, j) * math.exp((j - 1) * rho(j)) for j in range(3, order + 1))
    assert without_replacement(sample_rate, noise_multiplier, order) == pytest.approx(math.log(total) / (order - 1), rel=1e-9)


def test_the_claim_counts_every_image() -> None:
    one, two = (claimed(noise_multiplier=2.0, parts=100, releases=number, delta=1e-5).epsilon for number in (1_000, 2_000))
    assert one < two < 2 * one


def begun(**settings: object) -> tuple[GSWGANConfig, State]:
    """The quick configuration with other settings, and a new state of it on the digits."""
    plan = make_plan("gs-wgan", DATA.facts, settings=QUICK["gs-wgan"] | {"release.noise_multiplier": 1.0} | settings)
    config = plan.build().config
    assert isinstance(config, GSWGANConfig)
    return config, new_state(plan, seed=0)


def weights(state: State) -> list[torch.Tensor]:
    """Those of each critic in one row."""
    return [torch.cat([value.detach().flatten() for value in critic.parameters()]).clone() for critic in state.modules[CRITICS].children()]


def taught(state: State, before: list[torch.Tensor]) -> list[int]:
    """The critics that changed."""
    return [part for part, (one, other) in enumerate(zip(before, weights(state), strict=True)) if not torch.equal(one, other)]


def steps_of(config: GSWGANConfig, data: Records, state: State) -> Iterator[tuple[str, list[int]]]:
    """Each step's stage, and the critics that it taught."""
    before = weights(state)
    for step in training.fit(config, data, None, state):
        yield step.stage, taught(state, before)
        before = weights(state)


def test_opposite_critics_are_as_far_apart_as_stated_and_none_farther() -> None:
    """The release without noise, in grid steps: 2 C sqrt(B) against a deviation of 2 C s."""
    config, state = begun(**{"release.max_grad_norm": 0.5, "release.batch_size": 6})
    critic, images = state.modules[CRITICS][0], torch.randn(6, *DATA.facts.shape)  # pyright: ignore[reportIndexIssue]
    classes = torch.arange(6)
    for parameter in critic.parameters():
        parameter.data *= 1e4
    released: list[np.ndarray] = []
    silent = state.randomness
    silent.release = lambda purpose, step, total, grid: released.append(total / 2.0**grid.bits) or grid.values(total)  # type: ignore[method-assign]
    gradients = training.image_gradients(critic, images, classes)
    for sign in (1.0, -1.0):
        training.noisy_gradients(config, sign * gradients, state, 1)
    stated = release_stage(config).distances
    assert stated is not None
    assert np.linalg.norm(released[0] - released[1]) == pytest.approx(stated.replace_one, rel=1e-6)
    assert np.linalg.norm(released[0] - released[1]) <= stated.replace_one


def released_gradients(data: Records, part: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[np.ndarray], float]:
    """What steps that draw a part release before noise, in deviations of it, and the distance stated of one.

    The critics learn first. What follows a release is the same whatever it says, so that later ones differ by what critics learned alone.
    """
    plan = make_plan("gs-wgan", DATA.facts.model_copy(update={"num_records": len(data)}), settings=QUICK["gs-wgan"] | OPPOSITE)
    config, state, released = plan.build().config, new_state(plan, seed=0), list[np.ndarray]()
    assert isinstance(config, GSWGANConfig)

    def recorded(_self: Randomness, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        assert purpose == GRADIENTS
        released.append(total * grid.spacing / grid.deviation)
        return np.full(total.shape, 0.1 * step)

    with monkeypatch.context() as patch:
        patch.setattr(Randomness, "release", recorded)
        patch.setattr(training, "fixed_size_batch", lambda *_: np.array([part]))
        for _ in plan.build().fit(data, None, state):
            pass
    stated = release_stage(config).distances
    assert stated is not None
    return released, stated.replace_one


OPPOSITE = {  # steps that a critic learns what its one record is in, and a norm that its gradients exceed
    "critics.parts": 4,
    "critics.turns": 4,
    "critics.warm_up": 0,
    "critics.updates": 40,
    "critics.network.hidden_size": 32,
    "critics.batch_size": 4,
    "critics.learning_rate": 0.1,
    "release.batch_size": 6,
    "release.steps": 2,
    "release.max_grad_norm": 0.01,
    "release.noise_multiplier": 1.7,
}


@pytest.mark.parametrize("position", [0, 2])
def test_a_replaced_record_moves_the_released_gradients_by_the_stated_distance_at_most(
    position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A black image in the place of a white one, each alone in its part: not if another part is drawn, and far if its own is."""
    records, labels = np.full((4, *DATA.facts.shape), 255, np.uint8), np.zeros(4, np.int64)
    others = records.copy()
    others[position] = 0
    for part in (position, 1):
        (before, stated), (after, _) = (released_gradients(Records(one, labels), part, monkeypatch) for one in (records, others))
        moved = [float(np.linalg.norm(one - other)) for one, other in zip(before, after, strict=True)]
        assert len(moved) == 2
        assert stated == pytest.approx(math.sqrt(6) / 1.7)
        if part == position:
            assert 0.55 * stated < min(moved) <= max(moved) <= stated
        else:
            assert max(moved) == 0.0


def test_an_image_of_several_channels_is_clipped_whole() -> None:
    """The release without noise, in grid steps: the gradient of each image has norm C at most, of all channels together."""
    config, state = begun(**{"release.max_grad_norm": 0.5})
    released: list[np.ndarray] = []
    state.randomness.release = lambda purpose, step, total, grid: released.append(total * grid.spacing) or grid.values(total)  # type: ignore[method-assign]
    training.noisy_gradients(config, torch.ones(4, 3, 5, 5), state, 1)
    assert np.linalg.norm(released[0].reshape(4, -1), axis=1) == pytest.approx([0.5] * 4, rel=1e-6)


def test_who_learns_is_public_and_no_draw_decides_it() -> None:
    config, state = begun(**{"critics.turns": 3, "critics.warm_up": 0, "release.steps": 4})
    steps = list(steps_of(config, DATA.train, state))
    assert [stage for stage, _ in steps] == [CRITICS, GRADIENTS] * 4
    assert [parts for _, parts in steps[::2]] == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    assert [parts for _, parts in steps[1::2]] == [[]] * 4, "asking a critic teaches none"


@pytest.mark.parametrize(("drawn", "critics_differ"), [("secret", False), ("trained", True)])
def test_a_secret_draw_is_told_by_the_release_alone(drawn: str, critics_differ: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another critic in every step, the same releases: steps say the same, and no module differs; as published, critics do."""
    fits: list[tuple[list[Step], dict[str, torch.Tensor]]] = []
    for part in (0, 3):
        config, state = begun(**{"release.drawn": drawn, "release.steps": 3})
        state.randomness.release = lambda purpose, step, total, grid: np.full(total.shape, 0.1 * step)  # type: ignore[method-assign]
        monkeypatch.setattr(training, "fixed_size_batch", lambda *_, part=part: np.array([part]))
        steps = list(training.fit(config, DATA.train, None, state))
        fits.append((steps, {f"{name} {key}": value for name, one in state.modules.items() for key, value in one.state_dict().items()}))
    (steps, weights), (other_steps, other_weights) = fits
    assert steps == other_steps
    differ = {name.split()[0] for name, value in weights.items() if not torch.equal(value, other_weights[name])}
    assert differ == ({CRITICS} if critics_differ else set())


def test_every_critic_warms_up_once() -> None:
    config, state = begun(**{"release.steps": 1})
    assert [parts for _, parts in steps_of(config, DATA.train, state)][:4] == [[0], [1], [2], [3]]


def test_as_published_the_critic_that_is_drawn_is_the_one_that_learns() -> None:
    config, state = begun(**{"release.drawn": "trained", "critics.warm_up": 0, "release.steps": 12})
    steps = list(steps_of(config, DATA.train, state))
    assert {stage for stage, _ in steps} == {GRADIENTS}
    assert all(len(parts) == 1 for _, parts in steps)
    assert len({parts[0] for _, parts in steps}) > 1


@pytest.mark.parametrize("part", [0, 2])
def test_a_critic_warms_up_and_learns_from_its_part_alone(part: int) -> None:
    """With other records in one part, and releases that stay as they were, no other critic differs after a whole fit."""
    records = DATA.train.records.copy()
    records[part::4] = 255 - records[part::4]
    states: list[State] = []
    for data in (DATA.train, Records(records, DATA.train.labels)):
        config, state = begun(**{"critics.turns": 4, "critics.warm_up": 2, "release.steps": 2})
        state.randomness.release = lambda purpose, step, total, grid: np.full(total.shape, 0.1 * step)  # type: ignore[method-assign]
        assert len(list(training.fit(config, data, None, state))) == 4 + 2 * 2
        states.append(state)
    assert Parts.of(state, 4, len(DATA.train)).positions(part)[:2].tolist() == [part, part + 4]  # pyright: ignore[reportPossiblyUnboundVariable]
    assert taught(states[1], weights(states[0])) == [part]


def test_critics_together_score_and_learn_as_each_alone() -> None:
    _, state = begun(**{"critics.network": {"blocks": 1, "width": 2, "hidden_size": 4, "label": "projected"}})
    critics = list(state.modules[CRITICS].children())
    images, classes = torch.randn(12, *DATA.facts.shape), torch.arange(12) % 10
    alone = torch.cat([critic(images[3 * part : 3 * part + 3], classes[3 * part : 3 * part + 3]) for part, critic in enumerate(critics)])
    together = training.together(critics)(images, classes)  # pyright: ignore[reportArgumentType]
    assert torch.allclose(alone, together, atol=1e-6)
    gradients = [torch.autograd.grad(scores.square().sum(), list(state.modules[CRITICS].parameters())) for scores in (alone, together)]
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(*gradients, strict=True))


def test_the_loss_of_a_critic_by_hand() -> None:
    """A linear critic x w: its gradient is w everywhere, of norm 5."""
    records, fakes = torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([[[[0.0, 2.0]]]])
    losses = training.critic_losses(
        lambda x, _: (x.flatten(1) * torch.tensor([3.0, 4.0])).sum(1), records, fakes, torch.zeros(1), torch.full((1, 1, 1, 1), 0.3), 10.0
    )
    assert losses.item() == pytest.approx(8.0 - 3.0 + 10.0 * 16.0 + 1e-3 * 9.0)


def test_teaching_leaves_the_generator_as_it_is() -> None:
    config, state = begun()
    before = {name: value.clone() for name, value in state.modules[GENERATOR].state_dict().items()}
    training.Training(config, DATA.train, state).learn(1)
    assert all(torch.equal(value, before[name]) for name, value in state.modules[GENERATOR].state_dict().items())


def test_a_critic_that_diverged_stops_nothing() -> None:
    """An error would tell of the records that it learned from."""
    config, state = begun(**{"critics.warm_up": 0, "release.steps": 2})
    for parameter in state.modules[CRITICS].parameters():
        parameter.data.fill_(math.nan)
    assert len(list(training.fit(config, DATA.train, None, state))) == 4
    assert all(value.isfinite().all() for value in state.modules[GENERATOR].parameters())


def test_noise_has_the_deviation_of_the_event() -> None:
    config, state = begun(**{"release.max_grad_norm": 0.5, "release.noise_multiplier": 1.7, "release.batch_size": 500})
    noise = training.noisy_gradients(config, torch.zeros(500, *DATA.facts.shape), state, 1)
    assert float(noise.std()) == pytest.approx(2 * 0.5 * 1.7, rel=0.02)
    event = release_stage(with_values(config, {"release.batch_size": 4})).event
    assert isinstance(event, DrawnPartGaussianDpEvent)
    assert (event.num_parts, event.noise_multiplier) == (4, 1.7 / 2)
