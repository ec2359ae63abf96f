"""The seven processes of `processes`: each a function of a canvas that gives images float32 (num, C, H, W), about 0 to 1.

They are made of what pictures of the world are known to share: occlusion (dead leaves: Lee, Mumford & Huang 2001), spectra that
fall as 1/f^alpha (Field 1987), oriented and sparse responses (Olshausen & Field 1996), self-similarity (Barnsley 1988), light on
surfaces, and objects that stand before a ground. Baradad et al. 2021 learn features from such images.
"""

from collections.abc import Callable

import numpy as np

from workbench.datasets.process_canvas import Canvas, Shapes, painted_ground, pixel_cover

LEAVES = 40
LEAF = (0.05, 0.6)  # radius
GABORS = 6
MAPS = (2, 6)  # of an iterated function system
POINTS_A_PIXEL = 4
FLIGHT = 64  # points that each particle leaves
SOLIDS = 4
PARTS = 4
WAVES = 4
LOW = np.array([[0, 1, 1, 0, 0, 0], [0.683, 1.183, 0.317, -0.183, 0, 0], [0, 0.5, 1, 0.5, 0, 0]], dtype=np.float32)
HIGH = np.array([[0, 1, -1, 0, 0, 0], [-0.183, -0.317, 1.183, -0.683, 0, 0], [-0.125, -0.25, 0.75, -0.25, -0.125, 0]], dtype=np.float32)


def dead_leaves(canvas: Canvas) -> np.ndarray:
    """Shapes that fall on one another, their radii by a power law whose exponent (1 to 3) differs from image to image."""
    x, y = canvas.positions()
    colours = canvas.colours(LEAVES + 1)[..., None, None]
    image = np.broadcast_to(colours[:, 0], (canvas.num, *canvas.shape))
    exponent = 1.001 - canvas.uniform(1, 3)
    low, high = (np.power(radius, exponent) for radius in LEAF)
    for leaf in range(LEAVES):
        radius = np.power(low + (high - low) * canvas.uniform(0, 1), 1 / exponent)
        shapes = Shapes.drawn(canvas, radius, spread=1.1)
        image = painted_ground(image, colours[:, leaf + 1], pixel_cover(shapes.depth(*shapes.local(x, y)), canvas.pixel))
    return image


def fractals(canvas: Canvas) -> np.ndarray:
    """Attractors of 2 to 6 random contractions: how often a wandering point comes by each pixel."""
    num, (height, width), most = canvas.num, canvas.size, MAPS[1]
    turn, lean = canvas.uniform(0, 2 * np.pi, most), canvas.uniform(0, 2 * np.pi, most)
    wide = canvas.uniform(0.3, 0.85, most)
    narrow = wide * canvas.uniform(0.2, 1, most)

    def rotation(angle: np.ndarray) -> np.ndarray:
        cosine, sine = np.cos(angle), np.sin(angle)
        return np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], -2)

    matrix = rotation(turn) * np.stack([wide, narrow], -1)[..., None, :] @ rotation(lean)  # (num, maps, 2, 2)
    offset = canvas.uniform(-1, 1, most, 2)
    is_used = np.arange(most) < canvas.rng.integers(MAPS[0], most + 1, size=(num, 1))
    weight = np.cumsum((wide * narrow + 0.02) * is_used, axis=1)
    particles = -(-POINTS_A_PIXEL * height * width // FLIGHT)
    points, rows = canvas.uniform(-1, 1, particles, 2), np.arange(num)[:, None]
    trail = np.empty((FLIGHT, num, particles, 2), dtype=np.float32)
    for step in range(-16, FLIGHT):
        chosen = (canvas.uniform(0, 1, particles, 1) * weight[:, None, -1:] > weight[:, None, :-1]).sum(-1)
        points = (matrix[rows, chosen] @ points[..., None])[..., 0] + offset[rows, chosen]
        if step >= 0:
            trail[step] = points
    centre, spread = trail.mean(axis=(0, 2))[:, None], trail.std(axis=(0, 2)).max(axis=1)[:, None, None]
    places = ((trail - centre) / (4.5 * np.maximum(spread, 1e-6)) + 0.5) * min(height, width)
    column = np.floor(places[..., 0] + (width - min(height, width)) / 2).astype(np.int64)
    row = np.floor(places[..., 1] + (height - min(height, width)) / 2).astype(np.int64)
    is_seen = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    cells = (np.arange(num)[:, None] * height + row) * width + column
    counts = np.bincount(cells[is_seen], minlength=num * height * width).reshape(num, height, width).astype(np.float32)
    mean = counts.sum(axis=(1, 2)) / np.maximum((counts > 0).sum(axis=(1, 2)), 1)
    return canvas.tinted(1 - np.exp(-counts / np.maximum(mean, 1)[:, None, None]))


def spectra(canvas: Canvas) -> np.ndarray:
    """Noise whose amplitude falls as frequency^-alpha, alpha from 0.5 to 2; natural images have about 1."""
    channels = canvas.shape[0]
    fields = canvas.noise(canvas.uniform(0.5, 2), per_image=1 + channels)
    vivid = canvas.uniform(0, 1, 1, 1, 1) if channels > 1 else 0
    return canvas.uniform(0.3, 0.7, channels, 1, 1) + canvas.uniform(0.08, 0.3, 1, 1, 1) * (fields[:, :1] + vivid * fields[:, 1:])


def gabors(canvas: Canvas) -> np.ndarray:
    """Sums of waves under a bell, each of its own place, size, direction, frequency and phase; large bells make stripes and gratings."""
    x, y = canvas.positions()
    most = min(16.0, min(canvas.size) / 3)  # cycles across the frame
    field = np.zeros((canvas.num, *canvas.size), dtype=np.float32)
    for _ in range(GABORS):
        right, down = (part[..., None, None] for part in (canvas.uniform(-1, 1, 2) * canvas.reach()).T)
        width, angle, phase = np.exp(canvas.uniform(-3, 0.3, 1, 1)), canvas.uniform(0, np.pi, 1, 1), canvas.uniform(0, 2 * np.pi, 1, 1)
        frequency = 2 * np.pi * np.exp(canvas.uniform(0, np.log(most), 1, 1))
        bell = np.exp(-(np.square(x - right) + np.square(y - down)) / (2 * np.square(width)))
        wave = np.cos(frequency * (np.cos(angle) * (x - right) + np.sin(angle) * (y - down)) + phase)
        field += canvas.rng.standard_normal((canvas.num, 1, 1), dtype=np.float32) * bell * wave
    return canvas.tinted(standardised_fields(canvas, field))


def wavelets(canvas: Canvas) -> np.ndarray:
    """Sparse coefficients of heavy tails, smaller from scale to scale, put together by one of three wavelets."""
    num, levels = canvas.num, int(np.ceil(np.log2(max(canvas.size))))
    bank = canvas.rng.integers(len(LOW), size=num)
    low, high = LOW[bank], HIGH[bank]
    decay, density = canvas.uniform(0.3, 1.1), canvas.uniform(0.05, 0.6, 1, 1, 1)
    field = np.zeros((num, 1, 1), dtype=np.float32)
    for level in range(levels):
        side = 2**level
        details = canvas.rng.laplace(size=(num, 3, side, side)) * (canvas.rng.random((num, 3, side, side)) < density)
        across, down, both = np.moveaxis(details.astype(np.float32) * np.power(2, -level * decay)[:, None, None, None], 1, 0)
        smooth, rough = widened_field(field, low) + widened_field(across, high), widened_field(down, low) + widened_field(both, high)
        field = (widened_field(smooth.swapaxes(1, 2), low) + widened_field(rough.swapaxes(1, 2), high)).swapaxes(1, 2)
    row, column = (canvas.rng.integers(2**levels, size=(num, 1)) + np.arange(side) for side in canvas.size)
    cut = field[np.arange(num)[:, None, None], row[:, :, None] % 2**levels, column[:, None] % 2**levels]
    return canvas.tinted(standardised_fields(canvas, cut))


def widened_field(field: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """`field` (N, H, W) at twice the width, filtered by `taps` (N, 6) on a circle."""
    apart = np.zeros((*field.shape[:2], 2 * field.shape[2]), dtype=np.float32)
    apart[..., ::2] = field
    return sum((np.roll(apart, tap - 2, axis=2) * taps[:, tap, None, None] for tap in range(taps.shape[1])), np.zeros_like(apart))


def standardised_fields(canvas: Canvas, field: np.ndarray) -> np.ndarray:
    """Fields (num, H, W) around 1/2 with a random contrast, cut at 0 and 1."""
    centred = field - field.mean(axis=(1, 2), keepdims=True)
    deviation = np.maximum(centred.std(axis=(1, 2), keepdims=True), 1e-6)
    return np.clip(0.5 + canvas.uniform(0.1, 0.35, 1, 1) * centred / deviation, 0, 1)


def solids(canvas: Canvas) -> np.ndarray:
    """One to four rounded bodies before a ground of soft noise, all lit from one side, with a highlight."""
    x, y = canvas.positions()
    ground = canvas.noise(np.full(canvas.num, 2, dtype=np.float32))[:, 0]
    image = canvas.tinted(np.clip(0.5 + canvas.uniform(0, 0.2, 1, 1) * ground, 0, 1))
    angle, height = canvas.uniform(0, 2 * np.pi, 1, 1), canvas.uniform(0.2, 1.2, 1, 1)
    light = np.cos(height) * np.cos(angle), np.cos(height) * np.sin(angle), np.sin(height)
    ambient, shine, colours = canvas.uniform(0.1, 0.5, 1, 1), canvas.uniform(0, 0.8, 1, 1), canvas.colours(SOLIDS)
    count = canvas.rng.integers(1, SOLIDS + 1, size=canvas.num)
    for body in range(SOLIDS):
        shapes = Shapes.drawn(canvas, canvas.uniform(0.15, 0.45), spread=0.8)
        u, v = shapes.local(x, y)
        front = np.sqrt(np.maximum(1 - np.square(shapes.gauge(u, v)), 0))
        cosine, sine = (part[:, None, None] for part in (np.cos(shapes.angle), np.sin(shapes.angle)))
        facing = (cosine * u - sine * v) * light[0] + (sine * u + cosine * v) * light[1] + front * light[2]
        lit = np.maximum(facing / np.sqrt(np.square(u) + np.square(v) + np.square(front) + 1e-6), 0)
        colour = colours[:, body, :, None, None] * (ambient + (1 - ambient) * lit)[:, None] + (shine * lit**8)[:, None]
        is_there = (body < count)[:, None, None]
        image = painted_ground(image, colour, pixel_cover(shapes.depth(u, v), canvas.pixel) * is_there)
    return image


def silhouettes(canvas: Canvas) -> np.ndarray:
    """One object of up to four parts with a wavy outline, half of them mirrored, on a black, white or coloured ground."""
    x, y = canvas.positions()
    across = np.where(canvas.chance(0.5)[:, None, None], np.abs(x), x + 0 * canvas.uniform(0, 1, 1, 1))
    depth = np.full((canvas.num, *canvas.size), -np.inf, dtype=np.float32)
    count, is_cut = canvas.rng.integers(1, PARTS + 1, size=canvas.num), canvas.chance(0.25)
    for part in range(PARTS):
        shapes = Shapes.drawn(canvas, canvas.uniform(0.12, 0.4), spread=0.45)
        inside = shapes.depth(*shapes.local(across, y))
        depth = np.where((part < count)[:, None, None], np.maximum(depth, inside), depth)
    hole = Shapes.drawn(canvas, canvas.uniform(0.05, 0.2), spread=0.6)
    depth = np.where(is_cut[:, None, None], np.minimum(depth, -hole.depth(*hole.local(across, y))), depth)
    direction = np.arctan2(y, across)
    for wave in range(2, 2 + WAVES):
        size, phase = canvas.uniform(0, 0.06 / wave, 1, 1), canvas.uniform(0, 2 * np.pi, 1, 1)
        depth = depth + size * np.cos(wave * direction + phase)
    texture = canvas.noise(canvas.uniform(0.8, 2))[:, 0]
    object_, ground = canvas.colours(1)[:, 0], canvas.colours(1)[:, 0]
    empty = canvas.rng.integers(3, size=canvas.num)  # black, white, or a colour
    ground = np.where((empty < 2)[:, None], (empty == 1)[:, None].astype(np.float32), ground)[..., None, None]
    filled = object_[..., None, None] + (canvas.uniform(0, 0.2, 1, 1) * texture)[:, None]
    return painted_ground(np.broadcast_to(ground, (canvas.num, *canvas.shape)), np.clip(filled, 0, 1), pixel_cover(depth, canvas.pixel))


FAMILIES: dict[str, Callable[[Canvas], np.ndarray]] = {
    "dead leaves": dead_leaves,
    "fractals": fractals,
    "spectra": spectra,
    "gabors": gabors,
    "wavelets": wavelets,
    "solids": solids,
    "silhouettes": silhouettes,
}
