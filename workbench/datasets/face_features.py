"""Who is drawn and how: the attributes of a face, what an identity always has, and what differs from picture to picture."""

from dataclasses import dataclass

import numpy as np

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "smile": ("no", "yes"),
    "glasses": ("no", "yes"),
    "hair": ("black", "blond", "brown"),
    "length": ("short", "long"),
    "identity": tuple(f"person {number}" for number in range(1, 21)),
}
BLOCK = 24  # every combination of smile, glasses, hair and length once

HAIR_COLOURS = np.array([[0.10, 0.09, 0.10], [0.90, 0.76, 0.38], [0.45, 0.27, 0.14]], dtype=np.float32)  # black, blond, brown
SKIN_TONES = np.array([[0.98, 0.86, 0.77], [0.90, 0.72, 0.55], [0.74, 0.53, 0.37], [0.50, 0.33, 0.22]], dtype=np.float32)
FACE_SHAPES = np.array([[0.45, 0.64, 2.0], [0.64, 0.66, 2.0], [0.45, 0.80, 2.0], [0.64, 0.76, 4.0], [0.54, 0.72, 2.6]], dtype=np.float32)
EYE_COLOURS = np.array([[0.25, 0.16, 0.10], [0.22, 0.42, 0.62], [0.28, 0.46, 0.26]], dtype=np.float32)


@dataclass(frozen=True)
class Faces:
    """N faces to draw: attributes int64 (N,), and arrays (N,) or (N, 3) of lengths in half pictures and colours in [0, 1].

    An identity has a skin tone, a face shape (half width, half height, exponent of the superellipse), eyes and a nose of its own; smile,
    glasses, hair and its length are independent of it, as are light, background, clothes and pose.
    """

    attributes: dict[str, np.ndarray]
    skin: np.ndarray
    shape: np.ndarray
    eye_colour: np.ndarray
    eye_distance: np.ndarray
    eye_size: np.ndarray
    nose: np.ndarray
    hair: np.ndarray
    clothes: np.ndarray
    background: np.ndarray  # (N, 2, 3): at the top and at the bottom
    tilt: np.ndarray  # radians
    shift: np.ndarray  # (N, 2)
    size: np.ndarray
    light: np.ndarray  # from the left (-1) to the right (1)


def draw_attributes(num: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The attributes of `num` faces, int64 (N,): all combinations once in every 24, all identities once in every 20, in random order."""

    def in_turn(count: int) -> np.ndarray:
        rounds = np.tile(np.arange(count, dtype=np.int64), (-(-num // count), 1))
        return rng.permuted(rounds, axis=1).ravel()[:num]

    combined = in_turn(BLOCK)
    drawn = {name: combined // step % len(ATTRIBUTES[name]) for name, step in (("smile", 1), ("glasses", 2), ("hair", 4), ("length", 12))}
    return drawn | {"identity": in_turn(len(ATTRIBUTES["identity"]))}


def draw_faces(attributes: dict[str, np.ndarray], rng: np.random.Generator) -> Faces:
    """Faces with these attributes; what an attribute does not decide is drawn at random."""
    who = attributes["identity"]
    num = len(who)

    def normal(deviation: float, *shape: int) -> np.ndarray:
        return (deviation * np.clip(rng.standard_normal((num, *shape)), -2, 2)).astype(np.float32)

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return rng.uniform(low, high, (num, *shape)).astype(np.float32)

    return Faces(
        attributes=attributes,
        skin=np.clip(SKIN_TONES[who % 4] * np.exp(normal(0.02, 1)) + normal(0.006, 3), 0, 1),
        shape=FACE_SHAPES[who // 4] * np.exp(normal(0.01, 1)),
        eye_colour=EYE_COLOURS[who % 3],
        eye_distance=(0.22 + 0.025 * (who % 2) + normal(0.004)).astype(np.float32),
        eye_size=(0.085 + 0.012 * (who // 2 % 3) + normal(0.003)).astype(np.float32),
        nose=(0.10 + 0.03 * (who // 3 % 3) + normal(0.004)).astype(np.float32),
        hair=np.clip(HAIR_COLOURS[attributes["hair"]] * np.exp(normal(0.08, 1)) + normal(0.015, 3), 0, 1),
        clothes=uniform(0.1, 0.9, 3),
        background=uniform(0.35, 0.95, 2, 3),
        tilt=normal(0.05),
        shift=normal(0.03, 2),
        size=np.exp(normal(0.04)),
        light=uniform(-1, 1),
    )
