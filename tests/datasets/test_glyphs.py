"""Glyphs: repeatable, public, well placed, and legible to a classifier that has only seen other glyphs."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.homes import here

from workbench import datasets
from workbench.datasets import glyphs
from workbench.datasets.drawings import cache_path
from workbench.datasets.glyph_canvas import Layout, draw_distortion, pixel_centres, stroke_distances
from workbench.datasets.glyph_fonts import FONTS, font_glyphs, sample_fields
from workbench.datasets.glyph_strokes import NUM_POINTS, SKELETONS, skeletons
from workbench.errors import WorkbenchError


def test_seed_decides_every_pixel() -> None:
    first, again, other = (glyphs.draw(130, (1, 8, 8), seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.records, again.records)
    assert (first.records != other.records).any(axis=(1, 2, 3)).mean() > 0.95


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 12, 20), (1, 28, 28), (3, 64, 64)])
def test_shape_type_and_classes(shape: tuple[int, int, int]) -> None:
    records = glyphs.draw(30, shape)
    assert records.records.shape == (30, *shape)
    assert records.records.dtype == np.uint8
    assert records.labels is not None
    assert np.bincount(records.labels).tolist() == [3] * 10
    ink = records.records.mean(axis=(1, 2, 3))
    assert ink.min() > 5
    assert ink.max() < 150
    np.testing.assert_array_equal(records.records[:, 0], records.records[:, -1])


def test_small_images_count_sixteenths_and_fill_the_height() -> None:
    images = glyphs.draw(300, (1, 8, 8)).records
    levels = np.rint(255 * np.arange(17) / 16)
    assert np.isin(images, levels).all()
    assert (images[:, 0, 0].max(axis=1) > 0).mean() > 0.6
    assert (images[:, 0, -1].max(axis=1) > 0).mean() > 0.6


def test_large_images_are_centred_by_mass_in_a_box_of_20() -> None:
    images = glyphs.draw(400, (1, 28, 28)).records[:, 0] / 255.0
    mass = images.sum(axis=(1, 2))
    row = (images.sum(axis=2) @ np.arange(28)) / mass
    column = (images.sum(axis=1) @ np.arange(28)) / mass
    assert np.abs(row - 13.5).mean() < 0.6
    assert np.abs(column - 13.5).mean() < 0.6
    inked = images.max(axis=2) > 0.5
    height = 28 - inked.argmax(axis=1) - inked[:, ::-1].argmax(axis=1)
    assert height.max() <= 21
    assert np.median(height) >= 17


def test_stroke_distance_is_the_distance_to_the_nearest_pen_position() -> None:
    labels, layout = np.arange(10), Layout.of(16, 16)
    distortion = draw_distortion(10, np.random.default_rng(1))
    distances = stroke_distances(labels, distortion, layout, np.random.default_rng(2))
    assert distances.shape == (10, layout.height * layout.width)
    grid = distances.reshape(10, layout.height, layout.width)
    for axis in (1, 2):  # a distance grows by at most 1 a pixel
        assert np.abs(np.diff(grid, axis=axis)).max() < 1.01
    assert (distances.min(axis=1) < 0).all()
    assert pixel_centres(layout)[[0, -1]].tolist() == [[0.5, 0.5], [layout.width - 0.5, layout.height - 0.5]]


@pytest.mark.parametrize("digit", range(10))
def test_skeletons_pass_through_their_controls_at_even_distances(digit: int) -> None:
    assert len(skeletons(digit)) == len(SKELETONS[digit]) >= 4
    for skeleton in skeletons(digit):
        assert skeleton.basis.shape == (NUM_POINTS, len(skeleton.controls))
        np.testing.assert_allclose(skeleton.basis.sum(axis=1), 1, atol=1e-5)
        curve = skeleton.basis @ skeleton.controls
        nearest = np.linalg.norm(curve[:, None] - skeleton.controls, axis=2).min(axis=0)
        assert nearest.max() < 0.05
        steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
        assert (steps > 3 * np.median(steps)).sum() <= 1  # lifting the pen between two strokes


def test_corners_stay_sharp() -> None:
    seven = skeletons(7)[0]
    corner = seven.controls[2]
    curve = seven.basis @ seven.controls
    at = int(np.linalg.norm(curve - corner, axis=1).argmin())
    before, after = curve[at] - curve[at - 3], curve[at + 3] - curve[at]
    cosine = before @ after / np.linalg.norm(before) / np.linalg.norm(after)
    assert cosine < 0


def test_font_digits_differ_and_fields_are_distances() -> None:
    printed = font_glyphs()
    assert len(printed) == 10 * len(FONTS)
    assert len({glyph.field.tobytes() for glyph in printed}) == len(printed)
    for number, glyph in enumerate(printed):
        on_edge = sample_fields(np.array([number]), glyph.outline[None])[0]
        assert np.abs(on_edge).max() < 0.05
        assert 0.01 < glyph.pen_radius < 0.2


def test_glyphs_teach_a_classifier_to_read_other_glyphs() -> None:
    train, test = glyphs.draw(1500, (1, 8, 8), seed=0), glyphs.draw(500, (1, 8, 8), seed=1)
    model = LogisticRegression(max_iter=200).fit(train.records.reshape(1500, -1) / 255, train.labels)
    assert model.score(test.records.reshape(500, -1) / 255, test.labels) > 0.85


@pytest.mark.parametrize("num", [10, 17, 101])
def test_every_digit_is_on_both_sides(num: int) -> None:
    dataset = glyphs.load(here(), (1, 8, 8), num)
    assert len(dataset.train) == num
    for records in (dataset.train, dataset.held_out):
        assert np.unique(np.asarray(records.labels)).tolist() == list(range(10))


def test_load_is_public_and_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    first = glyphs.load(here(), (1, 8, 8), 40)
    assert first.facts.is_public
    assert (len(first.train), len(first.held_out), first.facts.num_records) == (40, 10, 40)
    monkeypatch.setattr(glyphs, "draw", None)  # a second load must not draw
    assert glyphs.load(here(), (1, 8, 8), 40).fingerprint(here().key) == first.fingerprint(here().key)


@pytest.mark.parametrize("damage", [b"", b"not a zip file"])
def test_a_damaged_cache_is_drawn_anew(damage: bytes) -> None:
    first = glyphs.load(here(), (1, 8, 8), 40)
    path = cache_path("glyphs", glyphs.VERSION, 50, (1, 8, 8), 0, here().cache)
    path.write_bytes(damage)
    assert glyphs.load(here(), (1, 8, 8), 40).fingerprint(here().key) == first.fingerprint(here().key)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(("shape", "num"), [((1, 7, 8), 40), ((2, 8, 8), 40), ((1, 65, 64), 40), ((8, 8), 40), ((1, 8, 8), 9)])
def test_impossible_glyphs_are_refused(shape: tuple[int, ...], num: int) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        glyphs.load(here(), shape, num)
    if num == 40:
        with pytest.raises(WorkbenchError, match="Expected a shape C,H,W"):
            datasets.facts("glyphs", shape)
