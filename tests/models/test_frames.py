"""Frames: what moments say of an image, that it can be taken away and given back, and that it is the image's own."""

import numpy as np
import pytest

from workbench.datasets import load
from workbench.models.frames import HIGHEST, LOWEST, STANDARD, STANDARD_SIZE, frames_of
from workbench.models.reframing import in_standard_frame, reframed

LETTERS = load("glyphs").train.records[:200]


def oval(place: tuple[float, float] = (0.0, 0.0), slant: float = 0.0, wide: float = 1.0, high: float = 1.0, side: int = 64) -> np.ndarray:
    """A soft oval, a Gaussian of ink, uint8 (1, 1, side, side), of this frame."""
    down, right = np.mgrid[:side, :side] + 0.5
    unit = STANDARD_SIZE * side
    y = (down - side / 2) / unit - place[1]
    x = (right - side / 2) / unit - place[0] - slant * y
    return (255 * np.exp(-((x / wide) ** 2 + (y / high) ** 2) / 2)).round().astype(np.uint8)[None, None]


OVALS = [((0, 0), 0, 0.8, 0.8), ((0.4, -0.3), 0, 0.6, 0.8), ((0, 0), 0.5, 0.6, 0.7), ((0.2, 0), -0.3, 0.7, 0.6)]


@pytest.mark.parametrize(("place", "slant", "wide", "high"), OVALS)
def test_a_frame_is_what_an_oval_was_drawn_by(place: tuple[float, float], slant: float, wide: float, high: float) -> None:
    assert frames_of(oval(place, slant, wide, high))[0] == pytest.approx([*place, slant, wide, high], abs=0.02)


def test_frames_of_sides_that_differ_are_shares_of_each() -> None:
    narrow = oval(slant=0.2, wide=0.6, high=0.7, side=128).reshape(1, 1, 128, 64, 2).mean(axis=-1).round().astype(np.uint8)
    assert frames_of(narrow)[0] == pytest.approx([0, 0, 0.2, 0.6, 0.7], abs=0.02)


def test_an_image_in_the_standard_frame_has_it() -> None:
    images, found = in_standard_frame(np.concatenate([oval((0.3, 0.2), 0.4, 0.6, 0.8), oval(wide=0.9, high=0.7)]))
    again = frames_of((images * 255).round().astype(np.uint8))
    assert np.abs(again - STANDARD).max() < 0.15, "an oval that fills the side is cut off a little"
    assert np.abs(found - STANDARD).max() > 0.3


def test_what_was_taken_away_is_given_back() -> None:
    standard, found = in_standard_frame(LETTERS)
    back = reframed(standard, STANDARD, found)
    within = ((found > LOWEST) & (found < HIGHEST)).all(axis=1)
    alike = [np.corrcoef(one.ravel(), other.ravel())[0, 1] for one, other in zip(back[within], LETTERS[within], strict=True)]
    assert within.mean() > 0.5
    assert np.median(alike) > 0.95
    assert np.median([np.corrcoef(one.ravel(), other.ravel())[0, 1] for one, other in zip(standard, LETTERS, strict=True)]) < 0.9


def test_from_one_frame_to_another_is_by_way_of_the_standard_one() -> None:
    given, wanted = np.array([[0.2, 0.1, 0.3, 0.8, 0.7]]), np.array([[-0.3, 0.2, -0.4, 0.6, 0.8]])
    image = reframed(oval((0.2, 0.1), 0.3, 0.8, 0.7) / 255.0, given, wanted)
    expected = oval((-0.3, 0.2), -0.4, 0.6, 0.8) / 255.0
    assert np.abs(image - expected).max() < 0.02


def test_an_image_is_brought_there_alike_alone_and_in_company() -> None:
    """To the bit, or another record could move what this one adds."""
    together, found = in_standard_frame(LETTERS)
    for place in (0, 7, 199):
        alone, own = in_standard_frame(LETTERS[place : place + 1])
        assert np.array_equal(alone[0], together[place])
        assert np.array_equal(own[0], found[place])


def test_frames_have_bounds_and_a_black_image_has_the_standard_one() -> None:
    black, dot, line = (np.zeros((1, 1, 28, 28), np.uint8) for _ in range(3))
    dot[..., 0, 0] = 255
    line[..., np.arange(28), 27 - np.arange(28)] = 255
    assert np.array_equal(frames_of(black)[0], STANDARD)
    for image in (dot, line, np.full((1, 3, 28, 28), 255, np.uint8)):
        found = frames_of(image)[0]
        assert np.isfinite(found).all()
        assert (found >= LOWEST).all()
        assert (found <= HIGHEST).all()
    assert np.array_equal(in_standard_frame(black)[0], black)
