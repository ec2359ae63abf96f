"""The private classifier: what a record moves, that its weights follow the noisy gradients, what wavelets see, what is labelled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_plan
from support.shapes import shapes
from support.slow_tier import FLOW, PRIVATE_STEP

from workbench.datasets import Dataset, load
from workbench.errors import WorkbenchError
from workbench.evaluation import evaluate
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.private_classifier import PrivateClassifier, PrivateClassifierConfig, training
from workbench.methods.private_classifier.scattering import Scattering
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.state import State
from workbench.workspace import Workspace

DIGITS = load("digits")


def plan(noise_multiplier: float = 1.0, **settings: Any) -> Plan:
    return quick_plan("private-classifier", epsilon=None, overrides={"noise_multiplier": noise_multiplier} | settings)


def fitted(made: Plan, data: Dataset = DIGITS) -> State:
    state = new_state(made, seed=0)
    for _ in fit(made, data, state):
        pass
    return state


def config_of(made: Plan) -> PrivateClassifierConfig:
    config = made.build().config
    assert isinstance(config, PrivateClassifierConfig)
    return config


def turned(made: Plan, state: State, records: Records) -> np.ndarray:
    return training.component_features(training.scattering_of(config_of(made), state.facts)(records.records), state)


def test_all_steps_are_one_gaussian_mechanism() -> None:
    for steps in (1, 7):
        made = plan(2.0, steps=steps)
        assert made.bound.epsilon == pytest.approx(gdp_epsilon(1 / 2.0, made.delta), rel=1e-9)
    assert made.claim.status == "not_evaluated"


def test_one_record_moves_the_sum_by_the_norm_and_replaced_by_twice_that() -> None:
    """Two classes, at weights of zero: the same image in the other class has the opposite gradient."""
    grid, weights = Grid(1.0, 0.1, 3), np.zeros((4, 2))
    features, there = np.array([[0.6, 0.8, 0.0, 0.3]] * 3), np.ones(3, bool)

    def total(label: int, mask: np.ndarray) -> np.ndarray:
        return grid.values(training.gradients(features, np.array([label, 0, 1]), mask, weights, grid))

    assert np.linalg.norm(total(0, there) - total(1, there)) == pytest.approx(0.2, rel=1e-6)
    assert np.linalg.norm(total(0, there) - total(0, np.array([False, True, True]))) == pytest.approx(0.1, rel=1e-6)
    stated = next(stage for stage in plan().stages if stage.name == "gradients").distances
    assert stated is not None
    assert stated.replace_one == pytest.approx(2 * stated.zero_out)


def test_what_a_record_adds_does_not_depend_on_the_others_to_the_bit() -> None:
    made = plan()
    state = fitted(made)
    part = DIGITS.train.take(slice(100))
    others = part.records[::-1].copy()
    others[7] = part.records[7]
    assert np.array_equal(turned(made, state, part)[7], turned(made, state, replace(part, records=others))[7])


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_without_noise_weights_go_down_the_gradient(momentum: float) -> None:
    made = plan(1e-3, max_grad_norm=10.0, learning_rate=2.0, momentum=momentum)
    state = fitted(made)
    features = torch.from_numpy(turned(made, state, DIGITS.train))
    weights = torch.zeros(features.shape[1], 10, dtype=torch.float64, requires_grad=True)
    averaged, optimizer = [], torch.optim.SGD([weights], lr=2.0, momentum=momentum)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(features @ weights, torch.from_numpy(np.asarray(DIGITS.train.labels))).backward()
        optimizer.step()
        averaged.append(weights.detach().numpy().copy())
    config = config_of(made)
    assert config.averaged_steps == 2
    assert np.allclose(training.classifier(config, state), np.mean(averaged[-2:], axis=0), atol=2e-3)


def gratings(period: float, angle: float, side: int = 32) -> np.ndarray:
    y, x = np.mgrid[:side, :side]
    wave = np.cos(2 * np.pi / period * (np.cos(angle) * x + np.sin(angle) * y))
    return np.rint(127.5 + 100 * wave).astype(np.uint8)[None, None]


@pytest.mark.parametrize(("octave", "orientation"), [(0, 0), (0, 2), (1, 1), (1, 3)])
def test_a_grating_is_seen_by_the_wavelet_of_its_frequency_and_direction(octave: int, orientation: int) -> None:
    responses = Scattering((32, 32), 2, 4, 1)(gratings(2 ** (octave + 1) * 4 / 3, np.pi * orientation / 4))[0]
    first = [responses[place] for place in places_of_first_responses()]
    assert int(np.argmax(first)) == 4 * octave + orientation


def places_of_first_responses() -> list[int]:
    """Where the responses to eight wavelets stand: after the average, each of the first octave is followed by its own four."""
    return [1 + 5 * turn for turn in range(4)] + [1 + 5 * 4 + turn for turn in range(4)]


def test_contrast_changes_nothing_and_colour_only_the_averages() -> None:
    image = np.zeros((1, 3, 16, 16), np.uint8)
    image[0, 0, 4:9, 5:12] = 200
    scatter = Scattering((16, 16), 2, 4, 2)
    half, other = image // 2, image[:, [2, 0, 1]]
    assert np.allclose(scatter(image), scatter(half), atol=1e-5)
    averages = 3 * scatter.cells**2
    assert np.allclose(scatter(image)[:, averages:], scatter(other)[:, averages:], atol=1e-5)
    assert not np.allclose(scatter(image)[:, :averages], scatter(other)[:, :averages], atol=1e-2)
    assert scatter(image).shape[1] == PrivateClassifierConfig(cells=2, orientations=4).numbers_of_features(shapes(6, 6).facts)


def test_images_that_are_kept_are_those_it_is_surest_of() -> None:
    made = plan(1e-3, records=140, kept=0.5)
    state, method = fitted(made), made.build()
    drawn = sample(made, state, 60)
    assert isinstance(method, PrivateClassifier)
    scores = turned(made, state, drawn) @ training.classifier(config_of(made), state)
    own = scores[np.arange(60), np.asarray(drawn.labels)]
    assert (own - np.median(scores, axis=1) > 0).mean() > 0.9
    module = state.modules["labelled_images"]
    assert tuple(module.images.shape[:2]) == (10, 7)  # type: ignore[union-attr]


def test_more_records_are_given_more_steps_and_components() -> None:
    def steps_and_components(count: int) -> tuple[int, int, float]:
        config = make_plan("private-classifier", DIGITS.facts.model_copy(update={"num_records": count}), epsilon=1.0).config
        return config["steps"], config["components"], config["momentum"]

    chosen = [steps_and_components(count) for count in (1_999, 2_000, 10_000, 40_000)]
    assert chosen == [(20, 100, 0.0), (40, 100, 0.9), (40, 300, 0.9), (100, 300, 0.9)]


def test_its_accuracy_stands_beside_what_samples_teach() -> None:
    made = make_plan("private-classifier", DIGITS.facts, epsilon=10.0, settings={"records": 700, "steps": 10})
    state = fitted(made)
    method, samples = made.build(), sample(made, state, 100)
    assert isinstance(method, PrivateClassifier)
    right = float((method.classify(state, DIGITS.held_out) == DIGITS.held_out.labels).mean())
    name, workspace = "accuracy_released_classifier", Workspace.default()
    accuracy = evaluate(samples, DIGITS, metrics=[name], classes=lambda records: method.classify(state, records), workspace=workspace)[0]
    assert accuracy.value == right > 0.6
    assert accuracy.releasable is False
    with pytest.raises(WorkbenchError, match="needs a run that released a classifier"):
        evaluate(samples, DIGITS, metrics=[name], workspace=workspace)


@pytest.mark.slow(depends=["workbench/methods/private_classifier/**", "tests/support/shapes.py", *FLOW, *PRIVATE_STEP])
@pytest.mark.usefixtures("full_training")
def test_shapes_of_any_colour_are_told_apart_at_bound_3_by_what_public_images_carry() -> None:
    """400 pictures of 16x16; settings were chosen on other draws. Fewer public images than by default."""
    from workbench.evaluation.downstream import cnn

    data = shapes()
    made = make_plan("private-classifier", data.facts, epsilon=3.0, settings={"records": 8_000})
    state = fitted(made, data)
    assert made.bound.epsilon <= 3.0
    samples, method = sample(made, state, 1_500), made.build()
    assert isinstance(method, PrivateClassifier)
    assert (method.classify(state, data.held_out) == data.held_out.labels).mean() > 0.95
    assert (cnn(samples, data.held_out, data, 0) == data.held_out.labels).mean() > 0.7
