"""One stream of random numbers: the keystream of a cipher, turned into the draws that a guarantee rests on.

Words are 64 bits of ChaCha20's keystream under a key that no other stream has, so a nonce is never met twice. Every draw is
made of whole words: of integers where it selects records or hides them, of float64 where it is a normal that training draws.
"""

import math

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from workbench.training.discrete_laplace import discrete_laplace
from workbench.training.floored_normals import NOISE_BITS, floored_normals

STREAM_KEY_BYTES = 32
PAIRS = 2**14  # tried at a time, so that what is between stays in the processor's cache
LAST_WORD = np.uint64(2**64 - 1)
Size = int | tuple[int, ...]


class Stream:
    """Draws from the keystream of one 256-bit key, in order; the same calls draw the same values.

    Its methods are the only ways in which a mechanism gets at random numbers: whoever records a run's randomness overrides
    `Randomness.stream` to return a subclass of this one. Names are numpy's where the meaning is.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != STREAM_KEY_BYTES:
            raise ValueError(f"Expected a key of {STREAM_KEY_BYTES} bytes, got {len(key)}.")
        nonce = bytes(16)  # block counter and nonce; the key is this stream's alone
        self._keystream = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor()

    def read(self, count: int) -> bytes:
        """The next `count` bytes of the keystream."""
        return self._keystream.update(bytes(count))

    def words(self, count: int) -> np.ndarray:
        """The next `count` words, uint64, every value equally likely."""
        return np.frombuffer(self.read(8 * count), dtype="<u8")

    def random(self, size: Size = 1, bits: int = 53) -> np.ndarray:
        """Uniform multiples of 2^-bits in [0, 1), float64; with 24 bits they are float32 numbers too."""
        return ((self.words(math.prod(_shape(size))) >> np.uint64(64 - bits)) * 2.0**-bits).reshape(size)

    def bernoulli(self, probability: float, size: int) -> np.ndarray:
        """Booleans, each True with a probability of at most `probability`, and short of it by less than 2^-64.

        At most, because a Poisson-sampled release is the more private the rarer a record is drawn.
        """
        words, bar = self.words(size), math.floor(math.ldexp(probability, 64))
        return np.ones(size, dtype=bool) if bar >= 2**64 else words < np.uint64(bar)

    def integers(self, low: int | np.ndarray, high: int, size: Size = 1) -> np.ndarray:
        """Integers of low, .., high - 1, int64, exactly equally likely; an array of lows gives each its own range."""
        shape = _shape(size)
        lows = np.broadcast_to(np.asarray(low, dtype=np.int64), shape).ravel()
        spans = (np.int64(high) - lows).astype(np.uint64)
        if lows.size and (lows >= high).any():
            raise ValueError(f"Expected a high above the low of {lows.max()}, got {high}.")
        drawn = self.words(lows.size).copy()
        last = LAST_WORD - (np.uint64(0) - spans) % spans  # words beyond the last whole span would favour small integers
        while (beyond := np.flatnonzero(drawn > last)).size:
            drawn[beyond] = self.words(beyond.size)
        return (lows + (drawn % spans).astype(np.int64)).reshape(shape)

    def choice(self, total: int, size: int) -> np.ndarray:
        """`size` different integers of 0, .., total - 1, int64, every ordered choice equally likely (Fisher and Yates)."""
        moved: dict[int, int] = {}
        chosen = np.empty(size, dtype=np.int64)
        others: list[int] = self.integers(np.arange(size), total, size).tolist()
        for place, other in enumerate(others):
            chosen[place] = moved.get(other, other)
            moved[other] = moved.get(place, place)
        return chosen

    def standard_normal(self, size: Size = 1) -> np.ndarray:
        """Standard normal values, float64, by Marsaglia's polar method on 53-bit uniforms; up to 12 deviations."""
        drawn = np.empty(math.prod(_shape(size)))
        done = 0
        while done < len(drawn):
            normals = self._normals(min(PAIRS, 2 * (len(drawn) - done) // 3 + 8))[: len(drawn) - done]
            drawn[done : done + len(normals)] = normals
            done += len(normals)
        return drawn.reshape(size)

    def _normals(self, tries: int) -> np.ndarray:
        """Two normals of every point in the unit disc among `tries` in the square around it: pi / 4 of them."""
        points = ((self.words(2 * tries).view(np.int64) >> 11) + 0.5) * 2.0**-52  # in (-1, 1), exact, never 0
        x, y = points[:tries], points[tries:]
        square = x * x + y * y
        kept = np.flatnonzero(square < 1.0)
        square = square[kept]
        factor = np.sqrt(-2.0 * np.log(square) / square)
        return np.concatenate([x[kept] * factor, y[kept] * factor])

    def floored_normal(self, size: Size = 1, bits: int = NOISE_BITS) -> np.ndarray:
        """floor(2^bits N) for standard normal N, int64, exactly: the noise of what is released on a grid (`workbench.training.grid`)."""
        return floored_normals(self.words, math.prod(_shape(size)), bits).reshape(size)

    def discrete_laplace(self, scale: float, size: Size = 1) -> np.ndarray:
        """Integers x, int64, each with a chance in proportion to exp(-|x| / scale), exactly: the noise of counts."""
        return discrete_laplace(self.integers, scale, math.prod(_shape(size))).reshape(size)


def _shape(size: Size) -> tuple[int, ...]:
    return (size,) if isinstance(size, int) else tuple(size)
