"""The private selection: votes that are exact and a record's own, variations, and rounds that keep what was voted for."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage
from support.quick import quick_plan

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.models.selection import denoising, spaces
from workbench.models.selection.config import CANDIDATES, CLASSIFIER, DENOISER, VOTES, Draws, Selection, defaults
from workbench.models.selection.selector import Selector, occurred_before, weights_of
from workbench.models.selection.variations import VARIATIONS, sharpened_images, smooth_field, varied_images
from workbench.privacy import proved_bound
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import ImageKind, Records
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State

CPU = torch.device("cpu")
CLASSES, NUMBER, SIDE = 3, 5, 8
RNG = np.random.default_rng(0)
FACTS = DatasetFacts(name="own", kind=ImageKind(size=(1, SIDE, SIDE)), num_records=60, classes=("a", "b", "c"))
SPACE = spaces.blurred_pixels(0.5, SIDE, SIDE, CPU)


def images(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, (*shape, 1, SIDE, SIDE), dtype=np.uint8)


def records(count: int = 60) -> Records:
    return Records(images(count), RNG.integers(0, CLASSES, count))


CHOICES = torch.from_numpy(images(CLASSES, NUMBER))


def selector(**fields: Any) -> Selector:
    settings = Selection(**{"noise_multiplier": 1.0, "rounds": 2, "candidates": NUMBER, "blur": 0.5} | fields)
    state = State(FACTS, Randomness.from_seed(0), PerformanceSettings(device="cpu"))
    Selector.add_to(settings, FACTS, state)
    return Selector(settings, state)


# Votes


def test_a_blur_is_scipys_up_to_its_integers() -> None:
    seen = images(4)
    for deviation in (0.0, 0.5, 1.0, 2.0):
        blurred = spaces.blurred_pixels(deviation, SIDE, SIDE, CPU)(torch.from_numpy(seen)).numpy().reshape(4, SIDE, SIDE)
        axes = {"sigma": (0, deviation, deviation), "mode": "constant", "truncate": 8}
        exact = ndimage.gaussian_filter(seen[:, 0].astype(float), **axes) * spaces.PER_PIXEL
        assert np.abs(blurred - exact).max() <= (0 if deviation == 0 else 0.005 * exact.max())
        assert np.array_equal(blurred, np.floor(blurred))
        assert blurred.max() < spaces.LARGEST


@pytest.mark.parametrize("choices", [1, 3])
def test_votes_are_the_nearest_in_exact_arithmetic(choices: int) -> None:
    data = records()
    votes = spaces.count_votes(SPACE, CHOICES, data, choices)
    assert data.labels is not None
    expected = np.zeros((CLASSES, NUMBER), int)
    candidates = [[list(map(int, row)) for row in SPACE(of_class)] for of_class in CHOICES]
    for row, label in zip(SPACE(torch.from_numpy(data.records)), data.labels, strict=True):
        apart = [sum((int(a) - b) ** 2 for a, b in zip(row, candidate, strict=True)) for candidate in candidates[label]]
        expected[label, np.argsort(apart)[:choices]] += 1
    assert np.array_equal(votes, expected)


def test_whole_numbers_up_to_the_largest_are_told_apart() -> None:
    """Distances that differ by one in 2^45: float32, or rounded sums, would not see it."""
    targets = torch.full((2, 4096), float(spaces.LARGEST - 1), dtype=torch.float64)
    targets[0, 0] -= 1
    assert spaces.nearest(targets[1:], targets, 1).tolist() == [[1]]
    assert spaces.nearest(targets[:1], targets, 1).tolist() == [[0]]


def test_a_vote_does_not_depend_on_who_stands_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    data = records()
    whole = spaces.count_votes(SPACE, CHOICES, data, 2)
    monkeypatch.setattr(spaces, "CHUNK_BYTES", 1)
    assert np.array_equal(whole, spaces.count_votes(SPACE, CHOICES, data, 2))
    assert np.array_equal(whole, sum(spaces.count_votes(SPACE, CHOICES, data.take(slice(i, i + 1)), 2) for i in range(len(data))))


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_one_record_moves_the_votes_as_far_as_stated(choices: int, seed: int) -> None:
    """The distances of the event, over records replaced at random with image and label, and made null; the noise's deviation is 1."""
    data, draw, selecting = records(), np.random.default_rng(seed), selector(choices=choices)
    selecting.state.modules["candidates"].load_state_dict({"images": CHOICES})
    assert data.labels is not None
    stage = selecting.settings.round_stage(FACTS)
    assert stage.distances is not None

    def votes(records: Records) -> np.ndarray:
        selecting.vote(1, records)
        return selecting.state.tensors["votes"].numpy().copy()

    before, replaced, nulled = votes(data), [0.0], [0.0]
    for place in draw.integers(0, len(data), 8):
        others, labels = data.records.copy(), data.labels.copy()
        others[place], labels[place] = draw.integers(0, 256, (1, SIDE, SIDE)), draw.integers(0, CLASSES)
        replaced.append(float(np.linalg.norm(before - votes(replace(data, records=others, labels=labels)))))
        nulled.append(float(np.linalg.norm(before - votes(data.without(int(place))))))
    assert stage.distances.replace_one * (1 - 1e-6) < max(replaced) <= stage.distances.replace_one
    assert stage.distances.zero_out * (1 - 1e-6) < max(nulled) <= stage.distances.zero_out


def test_the_rounds_bound_is_that_of_gaussian_releases() -> None:
    stages = selector(noise_multiplier=4.0, rounds=3).settings.stages(FACTS)
    assert [stage.name for stage in stages] == [CANDIDATES, VOTES]
    assert proved_bound(stages, 1e-5).epsilon == pytest.approx(gdp_epsilon(math.sqrt(3) / 4.0, 1e-5), rel=1e-9)
    assert selector(rounds=0).settings.stages(FACTS) == []
    with pytest.raises(ValueError, match="choices of at most the 5 candidates"):
        selector(choices=6)


# Variations


@pytest.mark.parametrize("name", list(VARIATIONS))
@pytest.mark.parametrize("channels", [1, 3])
def test_a_variation_follows_its_size_and_its_generator(name: Any, channels: int) -> None:
    shown = torch.from_numpy(RNG.integers(0, 256, (6, channels, 12, 12), dtype=np.uint8))
    small, large, again = (varied_images(shown, [name], size, torch.Generator().manual_seed(1)) for size in (0.05, 1.0, 1.0))
    assert torch.equal(large, again)
    assert large.shape == shown.shape
    assert large.dtype == torch.uint8
    moved = [(varied.float() - shown.float()).abs().mean() for varied in (small, large)]
    assert 0 < moved[0] < moved[1]
    nothing = VARIATIONS[name](shown.float() / 255, 0.0, torch.Generator().manual_seed(1))
    assert torch.allclose(nothing, shown.float() / 255, atol=1e-5)


def test_a_crisp_warp_moves_alike_and_keeps_more_of_what_is_fine() -> None:
    """White noise of one pixel has as much at every frequency; a warp of random places keeps a part of its variance."""
    shown = torch.rand(200, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    blurred, crisp = (VARIATIONS[name](shown, 0.6, torch.Generator().manual_seed(1)) for name in ("warp", "crisp-warp"))
    inner = (..., slice(8, 20), slice(8, 20))
    assert float(np.corrcoef(blurred[inner].flatten(), crisp[inner].flatten())[0, 1]) > 0.95
    assert crisp[inner].var() > 1.4 * blurred[inner].var()
    assert (crisp[inner].var() - shown.var()).abs() < 0.3 * shown.var()


def test_a_bend_has_the_variance_that_it_is_scaled_to_up_to_the_border() -> None:
    field = smooth_field(2000, 12, 8, torch.Generator().manual_seed(0))
    assert torch.allclose(field.std(0), torch.ones(2, 12, 8), atol=0.1)


# Rounds


@pytest.mark.parametrize("side", [28, 56])
def test_sharpening_is_an_unsharp_mask_by_scipys_blur(side: int) -> None:
    seen = np.random.default_rng(1).integers(0, 256, (3, 2, side, side), dtype=np.uint8)
    axes = {"sigma": (0, 0, side / 28, side / 28), "mode": "constant", "radius": (0, 0, *[3 * side // 28 + 1] * 2)}
    exact = seen + 2.0 * (seen - ndimage.gaussian_filter(seen.astype(float), **axes))
    sharpened = sharpened_images(torch.from_numpy(seen), 2.0).numpy()
    assert sharpened.dtype == np.uint8
    assert np.abs(sharpened - exact.clip(0, 255)).max() <= 0.51
    assert np.array_equal(sharpened_images(torch.from_numpy(seen), 0.0).numpy(), seen)
    assert sharpened_images(torch.from_numpy(seen[:0]), 2.0).shape == (0, 2, side, side)


def test_what_is_drawn_is_sharpened_after_it_is_varied() -> None:
    selecting, labels = selector(), np.arange(CLASSES)
    for _ in selecting.run(records(), Records(CHOICES.flatten(0, 1).numpy(), np.repeat(labels, NUMBER))):
        pass
    plain, sharp = (selecting.draw(labels, CLASSES, Draws(sharpening=amount), torch.Generator().manual_seed(3)) for amount in (0.0, 2.0))
    assert np.array_equal(sharp.records, sharpened_images(torch.from_numpy(plain.records), 2.0).numpy())
    assert not np.array_equal(sharp.records, plain.records)


def test_large_drawings_are_warped_crisply_and_drawn_far_apart_and_nothing_else_is() -> None:
    large = {(1, 8, 8): False, (1, 28, 28): True, (1, 28, 16): False, (1, 64, 64): True, (3, 32, 32): False}
    crisp = {"selection.variations": ("crisp-warp", "stroke"), "draws.sharpening": 1.0, "draws.variation_size": 0.9}
    for shape, expected in large.items():
        settings = defaults(FACTS.model_copy(update={"kind": ImageKind(size=shape)}))
        assert {name: value for name, value in settings.items() if name in crisp} == (crisp if expected else {})


def test_rounds_keep_what_was_voted_for_and_vary_repeats() -> None:
    """All records are one public image: with hardly any noise it is what is left, as it is and varied."""
    public = Records(images(30), np.arange(30) % CLASSES)
    data = Records(np.repeat(public.records[:CLASSES], 20, axis=0), np.repeat(np.arange(CLASSES), 20))
    selecting = selector(noise_multiplier=1e-3)
    taken = [(step.stage, step.step, step.kept) for step in selecting.run(data, public)]
    assert taken == [(CANDIDATES, 1, True), (VOTES, 1, True), (CANDIDATES, 2, True), (VOTES, 2, True)]
    drawn = selecting.draw(np.arange(9) % CLASSES, 9, Draws(variation_size=0), torch.Generator().manual_seed(0))
    assert all(np.array_equal(image, public.records[label]) for image, label in zip(drawn.records, drawn.labels, strict=True))
    kept = selecting.state.modules["candidates"].images
    assert all(len(np.unique(of_class.numpy(), axis=0)) == NUMBER for of_class in kept), "repeats were varied"


def test_candidates_are_fixed_before_the_vote_and_clean_counts_are_not_kept() -> None:
    selecting, data = selector(), records()
    steps = selecting.run(data, Records(images(30), np.arange(30) % CLASSES))
    next(steps)
    before = selecting.state.checkpoint()["modules"]["candidates"]["images"].clone()
    spent: list[tuple[str, int]] = []
    selecting.state.spend = lambda stage, step: spent.append((stage, step))
    next(steps)
    after = selecting.state.checkpoint()
    assert spent == [(VOTES, 1)]
    assert torch.equal(before, after["modules"]["candidates"]["images"])
    clean = spaces.count_votes(SPACE, before, data, 1)
    noise = after["tensors"]["votes"].numpy() - clean
    assert (np.abs(noise) > 1e-6).all()
    assert not any(torch.equal(value.double().flatten(), torch.from_numpy(clean).double().flatten()) for value in after["tensors"].values())


def test_a_class_without_votes_draws_evenly() -> None:
    votes = torch.tensor([[0.0, 0.0], [4.0, 0.0], [1.0, 4.0]])
    assert weights_of(votes).tolist() == [[1, 1], [4, 0], [1, 4]]
    assert weights_of(votes, 0.5).tolist() == [[1, 1], [2, 0], [1, 2]]
    assert weights_of(votes, 0.0).tolist() == [[1, 1], [1, 0], [1, 1]]
    assert occurred_before(torch.tensor([3, 1, 3, 3, 2])).tolist() == [False, False, True, True, False]


def test_counts_below_the_threshold_are_no_votes() -> None:
    selecting = selector(noise_multiplier=2.0, threshold=1.5)
    selecting.state.tensors["votes"] = torch.tensor([[2.9, 3.0, -4.0, 0.0, 9.0]] * CLASSES)
    assert selecting.kept_votes().tolist() == [[0, 3, 0, 0, 9]] * CLASSES


def test_features_of_a_classifier_are_whole_numbers_in_which_distances_are_exact() -> None:
    network = networks.SmallCNN((1, 8, 8), 3, 16)
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (40, 1, 8, 8), dtype=np.uint8))
    features = spaces.classifier_features(network, spaces.largest_feature(network, images))(images)
    assert torch.equal(features, features.round())
    assert spaces.LARGEST / 2 < float(features.abs().max()) <= spaces.LARGEST
    assert len(features.unique()) > 100


def test_votes_may_be_cast_in_the_features_of_a_classifier_of_public_images() -> None:
    public = Records(images(30), np.arange(30) % CLASSES)
    selecting = selector(space="classifier", classifier={"steps": 3}, rounds=1)
    assert [stage.name for stage in selecting.settings.stages(FACTS)] == [CLASSIFIER, CANDIDATES, VOTES]
    assert [step.stage for step in selecting.run(records(), public)] == [CLASSIFIER] * 3 + [CANDIDATES, VOTES]
    seen = [selecting._space(shown) for shown in selecting._images("public_candidates")]
    assert sum(int((features == spaces.LARGEST - 1).sum()) for features in seen) == 1, "public images' largest feature is 1, and no other"
    with pytest.raises(WorkbenchError, match="Use the space pixels"):
        next(selector(space="classifier").run(records(), Records(public.records)))


@pytest.mark.parametrize("space", ["pixels", "standard-frame", "classifier"])
def test_a_records_features_are_its_own_whoever_stands_beside(space: str) -> None:
    """Scaled by its own batch, say, one record would move the votes of all others in it."""
    public = Records(images(30), np.arange(30) % CLASSES)
    selecting = selector(space=space, classifier={"steps": 3}, rounds=1)
    for step in selecting.run(records(), public):
        if step.stage == CANDIDATES:
            break
    seen = torch.from_numpy(images(20))
    together = selecting._space(seen)
    alone = float((together[:1] - selecting._space(seen[:1])).abs().max())
    assert alone <= (1 if space == "classifier" else 0), "a pass of another size may round otherwise, by a unit of 65 535"
    assert torch.equal(together[1:], selecting._space(torch.cat([255 - seen[:1], seen[1:]]))[1:]), "beside another"


def test_public_images_of_other_classes_serve_every_class_and_a_missing_class_is_named() -> None:
    unlabelled = selector()
    next(unlabelled.run(records(), Records(images(7))))
    with pytest.raises(WorkbenchError, match="got none of b"):
        next(selector().run(records(), Records(images(6), np.array([0, 2] * 3))))


# Variation by a diffusion model


def public(count: int = 30, labels: bool = True) -> Records:
    return Records(images(count), np.arange(count) % CLASSES if labels else None)


def test_a_denoiser_learns_from_public_images_alone_and_votes_cost_the_same() -> None:
    settings = {"variations": ("warp", "denoise"), "denoiser": {"steps": 3, "batch_size": 4, "num_inference_steps": 2}}
    shown, states = public(), []
    for voters in (records(), records()):
        chosen = selector(**settings)
        steps = list(chosen.run(voters, shown))
        assert [step.stage for step in steps[:4]] == [DENOISER] * 3 + [CANDIDATES]
        assert not any(step.private for step in steps if step.stage == DENOISER)
        states.append(chosen.state.modules["selection_denoiser"].state_dict())
    first, plain = selector(**settings).settings, selector().settings
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items()), "whoever votes"
    assert first.round_stage(FACTS) == plain.round_stage(FACTS)
    assert next((stage.name, stage.spent) for stage in first.stages(FACTS)) == (DENOISER, "free")


def test_a_denoised_image_is_the_further_off_the_larger_the_variation() -> None:
    chosen = selector(variations=("denoise",), denoiser={"steps": 40, "batch_size": 16, "num_inference_steps": 4})
    flat = Records(np.full((30, 1, SIDE, SIDE), 200, np.uint8), np.arange(30) % CLASSES)
    list(denoising.train(chosen.settings.denoiser, flat, chosen.state))
    shown, apart = torch.from_numpy(images(8)), []
    for size in (0.0, 0.2, 2.0):
        made = denoising.denoised_images(chosen.settings.denoiser, shown, 1, size, torch.Generator().manual_seed(0), chosen.state)
        assert (made.dtype, made.shape) == (torch.uint8, shown.shape)
        apart.append(float((made.float() - shown.float()).abs().mean()))
    assert apart[0] == 0 < apart[1] < apart[2]


def test_classes_are_told_to_no_denoiser_that_knows_none() -> None:
    chosen = selector(variations=("denoise",), denoiser={"steps": 2, "batch_size": 4})
    list(denoising.train(chosen.settings.denoiser, public(labels=False), chosen.state))
    made = [
        denoising.denoised_images(chosen.settings.denoiser, CHOICES[0], label, 1.0, torch.Generator().manual_seed(0), chosen.state)
        for label in range(CLASSES)
    ]
    assert all(torch.equal(made[0], other) for other in made)


def test_what_is_no_list_is_refused_with_the_form_of_one() -> None:
    with pytest.raises(WorkbenchError, match=r"variations: Expected a list, such as \[.*, got 'odd'"):
        quick_plan("private-evolution", overrides={"selection.variations": "odd"})


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_compared_for_the_nearest_is_exact_at_the_most_features_of_either_sign_and_refused_beyond(sign: float) -> None:
    assert 3 * spaces.LARGEST**2 * spaces.MOST_DIMENSIONS < 2**53, "|t|^2 - 2 f.t, opposite and as large as can be"
    features = torch.full((1, spaces.MOST_DIMENSIONS), float(spaces.LARGEST), dtype=torch.float64)
    targets = (sign * features).repeat(2, 1)
    targets[1, 0] -= sign  # one step nearer to 0: nearer to an opposite record, farther from an equal one
    assert spaces.nearest(features, targets, 1).item() == (0 if sign > 0 else 1)
    with pytest.raises(WorkbenchError, match=r"at most 2\^19 features"):
        spaces.nearest(torch.zeros(1, spaces.MOST_DIMENSIONS + 1), torch.zeros(1, spaces.MOST_DIMENSIONS + 1), 1)


def test_in_the_standard_frame_an_image_votes_for_its_shape_wherever_it_lies() -> None:
    """A bar that lies to the right is nearest to the same bar on the left, and by pixels to another shape that lies where it does."""
    left, right, other = (torch.zeros((1, 1, 28, 28), dtype=torch.uint8) for _ in range(3))
    left[..., 6:20, 5:8] = right[..., 8:22, 14:17] = other[..., 8:22, 14:17] = other[..., 14:16, 10:21] = 255
    candidates = torch.stack([left, other], 1)
    data = Records(right.numpy(), np.zeros(1, np.int64))
    pixels = spaces.blurred_pixels(1.0, 28, 28, CPU)
    assert spaces.count_votes(pixels, candidates, data, 1).tolist() == [[0, 1]]
    assert spaces.count_votes(spaces.in_standard_frames(pixels), candidates, data, 1).tolist() == [[1, 0]]
