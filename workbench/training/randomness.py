"""A run's randomness: one 128-bit key, one independent stream per purpose, step and index.

The key comes from the operating system, lives in the run's checkpoint alone and is erased when the run is done. From it, keyed
BLAKE2b derives a 256-bit key for each (purpose, step, index), and ChaCha20 under that key makes the stream: a replayed step draws
the very same numbers, and no two different steps or purposes share any, or tell of each other.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from workbench.lazy import torch
from workbench.training.exponential import weighted_choice
from workbench.training.grid import Grid
from workbench.training.streams import STREAM_KEY_BYTES, Stream

KEY_BYTES = 16
DOMAIN = b"workbench stream"  # 16 bytes: BLAKE2b's personalisation


class Randomness:
    """Streams of random numbers derived from a key, a purpose and a step.

    Everything that a guarantee rests on is drawn through `stream`, and every one-shot release made by `release`, or of counts with
    Laplace noise by `release_counts`: a subclass that overrides these records, or replaces, all of it.
    """

    def __init__(self, key: bytes, seed: int | None = None) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"Expected a key of {KEY_BYTES} bytes, got {len(key)}.")
        self._key = key
        self.seed = seed

    @classmethod
    def fresh(cls) -> Randomness:
        """A key from the operating system's entropy: the only kind a release may use."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_seed(cls, seed: int) -> Randomness:
        """A repeatable key, known to whoever knows the seed: whatever it makes is not releasable."""
        return cls(hashlib.sha256(f"workbench seed {seed}".encode()).digest()[:KEY_BYTES], seed)

    @property
    def releasable(self) -> bool:
        """Whether the noise is secret: False for a seeded key."""
        return self.seed is None

    def stream(self, purpose: str, step: int = 0, index: int = 0) -> Stream:
        """The stream of `purpose` at `step`; each call starts it anew. Anything a guarantee rests on draws from here.

        `index` tells streams within a step apart (one a record, say).
        """
        name = step.to_bytes(8, "little") + index.to_bytes(8, "little") + purpose.encode()
        return Stream(hashlib.blake2b(name, digest_size=STREAM_KEY_BYTES, key=self._key, person=DOMAIN).digest())

    def release(self, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        """The Gaussian mechanism on a public grid: `total` (grid steps, int64) with noise of `grid.deviation`, as float64.

        Sum what `grid.truncated` gives of the records, in integers.
        """
        return grid.values(total + self.stream(purpose, step).floored_normal(total.shape, grid.bits))

    def release_counts(self, purpose: str, step: int, counts: np.ndarray, scale: float) -> np.ndarray:
        """The Laplace mechanism in integers: `counts` int64 with discrete Laplace noise of `scale`, int64."""
        return counts + self.stream(purpose, step).discrete_laplace(scale, counts.shape)

    def choose(self, purpose: str, step: int, scores: np.ndarray, rate: float, index: int = 0) -> int:
        """The exponential mechanism: a position drawn with weight exp(rate score), float64 (candidates,).

        State `choice_distance(len(scores))` on the stage. `index` tells the choices of one step apart.
        """
        return weighted_choice(self.stream(purpose, step, index).read, scores, rate)

    def torch_generator(self, purpose: str, step: int = 0, device: torch.device | str = "cpu") -> torch.Generator:
        """A torch generator for draws no guarantee rests on (network initialisation, diffusion times, sampling).

        Torch seeds have at most 64 bits (32 on the CPU), too few for noise that hides a record.
        """
        seed = int(self.stream(purpose, step).integers(0, 2**63 - 1)[0])
        return torch.Generator(device=device).manual_seed(seed)

    def to_checkpoint(self) -> dict[str, object]:
        """What a checkpoint keeps; nothing else may."""
        return {"key": self._key.hex(), "seed": self.seed}

    @classmethod
    def from_checkpoint(cls, value: dict[str, object]) -> Randomness:
        """The same streams again."""
        seed = value["seed"]
        return cls(bytes.fromhex(str(value["key"])), None if seed is None else int(str(seed)))
