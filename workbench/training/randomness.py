"""A run's randomness: one 128-bit key, one independent stream per purpose and step.

The key comes from the operating system, lives in the run's checkpoint alone and is erased when the run is done. Streams
are counter-based (Philox 4x64, 128-bit key, 256-bit counter): the key and (purpose, step) fix a stream, so a replayed step
draws the very same noise and no two different steps or purposes share any.
"""

import hashlib
import secrets

import numpy as np
import torch

KEY_BYTES = 16


class Randomness:
    """Streams of random numbers derived from a key, a purpose and a step."""

    def __init__(self, key: bytes, seed: int | None = None) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"Expected a key of {KEY_BYTES} bytes, got {len(key)}.")
        self._key = key
        self.seed = seed

    @classmethod
    def fresh(cls) -> "Randomness":
        """A key from the operating system's entropy: the only kind a release may use."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_seed(cls, seed: int) -> "Randomness":
        """A repeatable key, known to whoever knows the seed: whatever it makes is not releasable."""
        return cls(hashlib.sha256(f"workbench seed {seed}".encode()).digest()[:KEY_BYTES], seed)

    @property
    def releasable(self) -> bool:
        """Whether the noise is secret: False for a seeded key."""
        return self.seed is None

    def stream(self, purpose: str, step: int = 0, index: int = 0) -> np.random.Generator:
        """The stream of `purpose` at `step`; each call starts it anew. Anything a guarantee rests on draws from here.

        `index` tells streams within a step apart (one a record, say).
        """
        purpose_word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "little")
        counter = np.array([0, index, step, purpose_word], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=np.frombuffer(self._key, dtype=np.uint64), counter=counter))

    def normal(self, purpose: str, step: int, shape: tuple[int, ...]) -> torch.Tensor:
        """Standard normal float32 values of `shape` from `stream(purpose, step)`, on the CPU."""
        return torch.from_numpy(self.stream(purpose, step).standard_normal(shape, dtype=np.float32))

    def torch_generator(self, purpose: str, step: int = 0, device: torch.device | str = "cpu") -> torch.Generator:
        """A torch generator for draws no guarantee rests on (network initialisation, diffusion times, sampling).

        Torch seeds have at most 64 bits (32 on the CPU), too few for noise that hides a record.
        """
        seed = int(self.stream(purpose, step).integers(0, 2**63))
        return torch.Generator(device=device).manual_seed(seed)

    def to_checkpoint(self) -> dict[str, object]:
        """What a checkpoint keeps; nothing else may."""
        return {"key": self._key.hex(), "seed": self.seed}

    @classmethod
    def from_checkpoint(cls, value: dict[str, object]) -> "Randomness":
        """The same streams again."""
        seed = value["seed"]
        return cls(bytes.fromhex(str(value["key"])), None if seed is None else int(str(seed)))
