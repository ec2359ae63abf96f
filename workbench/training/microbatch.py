"""A share of a batch that runs at once, and the random draws of its rows, which do not depend on how it was shared out."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from workbench.training.randomness import Randomness
from workbench.training.streams import Stream


@dataclass(frozen=True)
class Microbatch:
    """Records of the batch of `step` that run at once, each in `noise_multiplicity` rows.

    `records` are positions in the batch, int64 (R,), and `places` in the dataset, int64 (R,). Row r K + k is sample k of record r: index
    the batch's tensors with `rows`. Draws come from a stream of each record's own, named by its place: a replayed step, another split
    or a batch that lacks other records draws the same.
    """

    step: int
    records: np.ndarray
    places: np.ndarray
    noise_multiplicity: int
    randomness: Randomness = field(repr=False)
    purpose: str
    device: torch.device

    def part(self, which: slice) -> "Microbatch":
        """Some of its records."""
        return replace(self, records=self.records[which], places=self.places[which])

    @cached_property
    def rows(self) -> Tensor:
        """Position in the batch of every row's record, int64 (R K,), on the CPU."""
        return torch.from_numpy(np.repeat(self.records, self.noise_multiplicity))

    @cached_property
    def _streams(self) -> list[Stream]:
        return [self.randomness.stream(self.purpose, self.step, int(place)) for place in self.places]

    def normal(self, shape: tuple[int, ...]) -> Tensor:
        """Standard normal values, float32 (R K, *shape), on `device`."""
        size = (self.noise_multiplicity, *shape)
        drawn = np.empty((len(self.records), *size), dtype=np.float32)
        for stream, values in zip(self._streams, drawn, strict=True):
            values[:] = stream.standard_normal(size)
        return torch.from_numpy(drawn).flatten(0, 1).to(self.device)

    def uniform(self) -> Tensor:
        """One value in [0, 1) per row, float32 (R K,), on `device`."""
        return self._stacked([stream.random(self.noise_multiplicity, bits=24).astype(np.float32) for stream in self._streams])

    def uniforms(self, shape: tuple[int, ...]) -> Tensor:
        """Values in [0, 1), float32 (R K, *shape), on `device`."""
        size = (self.noise_multiplicity, *shape)
        return self._stacked([stream.random(size, bits=24).astype(np.float32) for stream in self._streams])

    def integers(self, low: int, high: int) -> Tensor:
        """One integer of low, .., high - 1 per row, int64 (R K,), on `device`."""
        return self._stacked([stream.integers(low, high, self.noise_multiplicity) for stream in self._streams])

    def per_record_uniform(self) -> Tensor:
        """One value in [0, 1) per RECORD, repeated over its rows (a label dropped once a record, say); float32 (R K,)."""
        return self._stacked([np.repeat(stream.random(bits=24).astype(np.float32), self.noise_multiplicity) for stream in self._streams])

    def _stacked(self, values: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.concatenate(values)).to(self.device)
