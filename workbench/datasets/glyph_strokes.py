"""Digits as pen strokes: splines through control points that jitter, so no two are alike.

A skeleton is text: control points `x,y` in percent of the digit's height (x to the right, y down), `*` after a corner, `|` between strokes.
Between points runs a Catmull-Rom spline, which is linear in them: the curve's points are one fixed matrix times the control points.
The skeletons are common ways to write digits, laid out by hand; no dataset was consulted.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

NUM_POINTS = 80
POINT_JITTER, END_JITTER = 0.032, 0.05  # standard deviations in heights

SKELETONS: dict[int, tuple[str, ...]] = {
    0: (
        "30,0 10,16 1,48 9,84 30,100 51,84 60,50 51,16 30,0",
        "38,2 18,5 4,32 2,66 16,96 38,97 56,72 58,36 44,6 26,6",
        "34,0 14,22 6,60 18,98 38,92 50,56 46,16 30,0",
        "20,6 5,28 4,70 24,100 48,88 60,56 54,20 32,1 16,10",
    ),
    1: (
        "10,0 10,50 10,100",
        "16,0 11,50 6,100",
        "6,0 9,48 10,100",
        "0,22 12,12 22,0* 22,50 21,100",
        "0,20 18,0* 18,50 18,100* | 2,100 36,100",
    ),
    2: (
        "3,22 14,5 34,0 54,10 56,28 42,52 20,78 0,98* 30,97 62,98",
        "3,20 18,3 40,2 54,18 48,42 28,70 10,93 1,88 8,77 24,84 42,98 62,92",
        "4,9 30,0 53,13 42,46 0,100* 30,100 60,100",
        "2,24 16,4 38,0 55,16 48,42 24,74 2,96* 20,87 40,96 64,90",
        "6,14 24,0 46,6 50,26 36,56 4,98* 34,94 58,97",
    ),
    3: (
        "4,12 24,0 48,6 52,24 40,42 20,46* 46,52 58,70 48,92 24,100 2,88",
        "4,14 26,0 50,10 48,32 30,45 20,47 34,48 54,60 56,82 36,99 12,98 0,88",
        "4,2 30,1 54,2* 26,40* 50,48 58,72 42,96 18,100 0,90",
        "2,8 26,0 48,12 44,34 26,44 14,42 22,39 44,50 54,72 42,96 16,100 2,92",
        "8,6 32,0 50,12 42,36 24,46* 48,54 52,78 34,98 6,96",
    ),
    4: (
        "10,0 5,30 2,56* 30,57 64,53 | 48,20 46,60 44,100",
        "46,0 22,32 0,66* 30,66 64,66 | 47,0 46,50 45,100",
        "40,100 44,46 46,0* 22,34 2,62* 32,62 62,61",
        "6,2 4,40 16,55 40,51 54,42 | 56,0 54,50 46,100",
        "14,4 8,30 4,52* 34,52 58,50 | 52,4 50,50 50,100",
    ),
    5: (
        "12,0 10,20 8,44* 28,37 52,47 58,70 44,94 20,100 0,90 | 12,1 34,1 56,2",
        "56,2 34,3 14,2* 8,42* 30,36 54,50 56,76 38,98 14,98 0,88",
        "58,0 32,0 15,9 11,32 26,43 46,52 56,72 44,94 20,100 2,90",
        "18,4 12,44* 34,42 48,58 46,82 26,99 2,94 | 18,4 40,4 60,0",
    ),
    6: (
        "46,0 24,14 8,40 2,68 12,94 34,100 54,86 54,64 36,52 16,58 4,72",
        "40,0 20,28 6,58 4,84 22,100 46,94 54,76 44,60 24,60 8,76",
        "54,10 40,0 18,14 4,46 4,80 24,100 48,92 56,70 42,54 20,58 6,76",
        "24,0 10,30 4,64 10,92 28,100 46,90 46,70 30,60 10,72",
    ),
    7: (
        "2,4 28,3 56,2* 40,40 22,100",
        "2,4 28,3 56,2* 40,40 26,100 | 12,51 32,50 52,48",
        "4,18 5,3* 30,3 58,2* 36,48 26,100",
        "0,9 20,4 44,3 56,7 50,26 32,60 24,100",
        "0,2 26,4 50,2* 48,46 44,100",
    ),
    8: (
        "50,12 30,0 8,10 8,28 30,46 52,64 52,88 30,100 6,88 6,66 30,46 50,28 50,12",
        "28,47 9,35 9,10 28,0 47,10 47,35 28,47* 5,62 3,86 28,100 53,86 51,62 28,47",
        "54,8 34,0 12,8 10,28 32,46 52,66 48,92 24,100 4,84 12,62 36,42 54,16",
        "34,1 14,8 14,28 32,45 46,66 40,92 20,99 4,84 10,64 36,40 50,18 36,2",
    ),
    9: (
        "50,16 34,2 12,8 2,28 12,46 34,46 50,26 52,8* 50,50 46,100",
        "52,20 36,2 14,6 2,28 14,48 38,44 52,22 54,42 50,70 36,94 14,100",
        "48,10 24,0 4,16 6,40 28,48 46,30 50,8* 44,50 30,100",
        "50,22 38,2 14,4 2,26 14,46 36,44 50,24* 52,60 46,90 24,100 6,92",
        "44,30 46,8 24,0 4,16 6,42 28,46 44,28* 40,64 36,100",
    ),
}


@dataclass(frozen=True)
class Skeleton:
    """Control points (n, 2) in heights, their jitter (n,), and the matrix (NUM_POINTS, n) from them to points of the pen's way."""

    controls: np.ndarray
    jitter: np.ndarray
    basis: np.ndarray


def segment_basis(before: int, start: int, end: int, after: int, count: int, num_controls: int) -> np.ndarray:
    """Rows (count, n) of one uniform Catmull-Rom segment from control `start` to `end`, its end left out."""
    t = np.linspace(0, 1, count, endpoint=False)
    weights = np.stack([-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2], axis=1) / 2
    rows = np.zeros((count, num_controls))
    for control, weight in zip((before, start, end, after), weights.T, strict=True):
        rows[:, control] += weight
    return rows


def spline_basis(stroke: list[int], num_controls: int, count: int) -> np.ndarray:
    """Rows (count per segment, summed, + 1, n) of the spline through the controls `stroke`; a control named twice in a row is a corner."""
    padded = [stroke[0], *stroke, stroke[-1]]
    windows = zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
    segments = [segment_basis(*window, count, num_controls) for window in windows if window[1] != window[2]]
    last = np.zeros((1, num_controls))
    last[0, stroke[-1]] = 1
    return np.concatenate([*segments, last])


def parse_skeleton(text: str) -> tuple[np.ndarray, list[list[int]]]:
    """Control points (n, 2) in heights and, per stroke, their numbers, corners twice."""
    controls, strokes = [], []
    for part in text.split("|"):
        stroke: list[int] = []
        for word in part.split():
            x, y = word.rstrip("*").split(",")
            stroke += [len(controls)] * (2 if word.endswith("*") else 1)
            controls.append((float(x) / 100, float(y) / 100))
        strokes.append(stroke)
    return np.array(controls), strokes


def evenly_spaced(basis: np.ndarray, controls: np.ndarray, count: int) -> np.ndarray:
    """`count` rows interpolated between those of `basis`, at equal distances along the curve."""
    curve = basis @ controls
    walked = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    position = np.interp(np.linspace(0, walked[-1], count), walked, np.arange(len(walked)))
    low = np.minimum(position.astype(int), len(basis) - 2)
    share = (position - low)[:, None]
    return basis[low] * (1 - share) + basis[low + 1] * share


def build_skeleton(text: str) -> Skeleton:
    """Compile the text of a skeleton; strokes share NUM_POINTS by their length."""
    controls, strokes = parse_skeleton(text)
    bases = [spline_basis(stroke, len(controls), 40) for stroke in strokes]
    lengths = np.array([np.linalg.norm(np.diff(basis @ controls, axis=0), axis=1).sum() for basis in bases])
    counts = np.maximum(np.floor(NUM_POINTS * lengths / lengths.sum()).astype(int), 8)
    counts[0] += NUM_POINTS - counts.sum()
    rows = [evenly_spaced(basis, controls, count) for basis, count in zip(bases, counts, strict=True)]
    jitter = np.full(len(controls), POINT_JITTER)
    jitter[[end for stroke in strokes for end in (stroke[0], stroke[-1])]] = END_JITTER
    return Skeleton(controls.astype(np.float32), jitter.astype(np.float32), np.concatenate(rows).astype(np.float32))


@cache
def skeletons(digit: int) -> tuple[Skeleton, ...]:
    """The compiled ways to write one digit."""
    return tuple(build_skeleton(text) for text in SKELETONS[digit])


def pen_points(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points of the pen's way, float32 (N, NUM_POINTS, 2) in heights, one random writing of each label."""
    points = np.empty((len(labels), NUM_POINTS, 2), dtype=np.float32)
    way = rng.random(len(labels))
    for digit in np.unique(labels):
        ways = skeletons(int(digit))
        for number, skeleton in enumerate(ways):
            chosen = np.flatnonzero((labels == digit) & (np.floor(way * len(ways)) == number))
            noise = rng.standard_normal((len(chosen), *skeleton.controls.shape), dtype=np.float32)
            points[chosen] = skeleton.basis @ (skeleton.controls + noise * skeleton.jitter[:, None])
    return points
