"""Processes: repeatable, public, in equal shares, of every size and colour, and each family what it is called."""

import numpy as np
import pytest
from support.homes import here

from workbench import datasets
from workbench.datasets import processes
from workbench.datasets.process_canvas import Canvas, Shapes, pixel_cover
from workbench.datasets.process_families import FAMILIES, HIGH, LOW
from workbench.datasets.resize import Shape
from workbench.errors import WorkbenchError

NAMES = list(FAMILIES)


@pytest.fixture(scope="module")
def drawn() -> dict[str, np.ndarray]:
    """Grey images float (32, 32, 32) of each family, from 0 to 1."""
    records = processes.draw(32 * len(NAMES), (1, 32, 32), seed=5)
    return {name: records.records[records.labels == number, 0] / 255 for number, name in enumerate(NAMES)}


def test_seed_and_size_decide_every_pixel_and_the_number_of_images_none() -> None:
    first, more, other = processes.draw(40, (1, 8, 8), 3), processes.draw(150, (1, 8, 8), 3), processes.draw(40, (1, 8, 8), 4)
    np.testing.assert_array_equal(first.records, more.records[:40])
    np.testing.assert_array_equal(first.labels, np.asarray(more.labels)[:40])
    assert (first.records != other.records).any(axis=(1, 2, 3)).mean() > 0.95
    later = more.records[112:]  # the second block
    assert (later != more.records[: len(later)]).any(axis=(1, 2, 3)).mean() > 0.95


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 12, 20), (1, 33, 17), (3, 128, 128)])
def test_shape_type_and_equal_shares(shape: Shape) -> None:
    records = processes.draw_block(shape, 0, 0)
    assert (records.records.shape[1:], records.records.dtype) == (shape, np.uint8)
    assert np.bincount(np.asarray(records.labels)).tolist() == [processes.EACH] * len(NAMES)
    assert np.unique(np.asarray(records.labels)[:7]).tolist() == list(range(7)), "each in every seven"
    deviation = records.records.std(axis=(1, 2, 3))
    assert (deviation > 4).mean() > 0.9, "few images are flat"
    if shape[0] == 3:
        assert (records.records[:, 0] != records.records[:, 2]).any(axis=(1, 2)).mean() > 0.9, "in colour"


def spectrum_slope(images: np.ndarray) -> np.ndarray:
    """By how much the logarithm of the amplitude (N,) falls a unit of log frequency, in windowed images (N, H, W)."""
    window = np.hanning(images.shape[1])[:, None] * np.hanning(images.shape[2])
    amplitude = np.abs(np.fft.fft2((images - images.mean(axis=(1, 2), keepdims=True)) * window))
    frequency = np.hypot(np.fft.fftfreq(images.shape[1])[:, None], np.fft.fftfreq(images.shape[2]))
    kept = (frequency > 0.06) & (frequency < 0.4)
    return -np.polyfit(np.log(frequency[kept]), np.log(amplitude[:, kept] + 1e-9).T, 1)[0]


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_noise_falls_by_the_slope_asked_for(slope: float) -> None:
    fields = Canvas(60, (1, 48, 48), np.random.default_rng(0)).noise(np.full(60, slope, np.float32))[:, 0]
    assert spectrum_slope(fields).mean() == pytest.approx(slope, abs=0.15)
    np.testing.assert_allclose(fields.std(axis=(1, 2)), 1, atol=1e-3)


def test_leaves_and_silhouettes_are_flat_with_edges_and_noise_is_not(drawn: dict[str, np.ndarray]) -> None:
    flat = {name: (np.abs(np.diff(images, axis=2)) < 1e-6).mean() for name, images in drawn.items()}
    assert flat["dead leaves"] > 0.4 > 0.1 > flat["spectra"]
    silhouettes = drawn["silhouettes"]
    assert ((silhouettes == 0).mean(axis=(1, 2)) > 0.1).mean() > 0.15, "some on black"
    assert ((silhouettes == 1).mean(axis=(1, 2)) > 0.1).mean() > 0.15, "some on white"
    mirrored = np.abs((silhouettes > 0.5) != (silhouettes > 0.5)[:, :, ::-1]).mean(axis=(1, 2)) < 0.1
    assert 0.2 < mirrored.mean() < 0.9


def test_gabors_have_one_frequency_more_than_others(drawn: dict[str, np.ndarray]) -> None:
    def peak(images: np.ndarray) -> float:
        power = np.square(np.abs(np.fft.rfft2(images - images.mean(axis=(1, 2), keepdims=True)))).reshape(len(images), -1)
        return float(np.median(power.max(axis=1) / power.sum(axis=1)))

    assert peak(drawn["gabors"]) > 1.5 * peak(drawn["dead leaves"])


def test_wavelets_take_whole_banks() -> None:
    for low, high in zip(LOW, HIGH, strict=True):
        assert low.sum() == pytest.approx(2, abs=1e-3), "keeps a constant"
        assert high.sum() == pytest.approx(0, abs=1e-3), "adds none"


def test_a_pixel_is_covered_as_far_as_the_shape_reaches_into_it() -> None:
    canvas = Canvas(1, (1, 64, 64), np.random.default_rng(0))
    disc = Shapes(np.zeros((1, 2)), np.array([[0.25, 0.25]]), np.zeros(1), np.array([[1.0, 0, 0]]))
    cover = pixel_cover(disc.depth(*disc.local(*canvas.positions())), canvas.pixel)
    assert cover.sum() / 64**2 == pytest.approx(np.pi * 0.25**2, rel=0.01)


def test_load_is_public_kept_on_disk_and_whole_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    first = processes.load(here(), (1, 8, 8), 40)
    assert first.facts == datasets.facts("processes", (1, 8, 8)).model_copy(update={"num_records": 40})
    assert first.facts.is_public
    assert (len(first.train), len(first.held_out)) == (40, 7)
    for records in (first.train, first.held_out):
        assert np.unique(np.asarray(records.labels)).tolist() == list(range(7))
    monkeypatch.setattr(processes, "draw", None)  # a second load must not draw
    assert processes.load(here(), (1, 8, 8), 40).fingerprint(here().key) == first.fingerprint(here().key)


@pytest.mark.parametrize(("shape", "num"), [((1, 7, 8), 40), ((2, 8, 8), 40), ((1, 129, 64), 40), ((8, 8), 40), ((1, 8, 8), 6)])
def test_impossible_processes_are_refused(shape: tuple[int, ...], num: int) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        processes.load(here(), shape, num)
