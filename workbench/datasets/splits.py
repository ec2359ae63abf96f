"""Held-out records of the user's own files: chosen by position and seed alone, so that no record moves another.

The bundled and downloaded datasets have fixed published splits (see `digits` and `idx`).
"""

import numpy as np

from workbench.errors import WorkbenchError

HELD_OUT_FRACTION = 1 / 6


def held_out_count(num_places: int, fraction: float = HELD_OUT_FRACTION) -> int:
    """How many of `num_places` are held out: the rounded fraction, at least 1 and never all of them."""
    return min(max(1, round(num_places * fraction)), num_places - 1)


def check_splittable(num_places: int, where: str, what: str = "records") -> None:
    """Refuse what cannot give a place to either side of the split."""
    if num_places < 2:
        raise WorkbenchError(f"Expected at least 2 {what} in {where}, got {num_places}: one is held out. Add {what}.")


def position_split(num_places: int, seed: int, fraction: float = HELD_OUT_FRACTION) -> tuple[np.ndarray, np.ndarray]:
    """Sorted positions 0..num_places-1 of the training and of the held-out records; nothing but the two numbers decides."""
    shuffled = np.random.default_rng(seed).permutation(num_places)
    count = held_out_count(num_places, fraction)
    return np.sort(shuffled[count:]), np.sort(shuffled[:count])
