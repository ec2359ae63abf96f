"""One-shot targets: every record is noised once at the boundary, and phase one trains on these copies as long as wanted."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.methods.dp_promise import phase_one
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.methods.dp_promise.losses import post_processing_loss
from workbench.methods.dp_promise.phase_one import RELEASE
from workbench.records import Records
from workbench.training.poisson import fixed_size_batch
from workbench.training.state import State, Step

COPIES = "noised copies"  # the state's tensor, float16 (N, C, H, W): rounding what is released tells nothing more
CHUNK = 500  # records noised at once


def copies_to_come(facts: DatasetFacts, state: State) -> dict[str, Tensor]:
    """Room for the noised copies."""
    return {COPIES: torch.zeros((facts.num_records, *facts.shape), dtype=torch.float16, device=state.device)}


def release(config: DPPromiseConfig, data: Records, state: State) -> Iterator[Step]:
    """Every record once as y = sqrt(abar_S) x + sqrt(1 - abar_S) zeta, recorded as spent before a record is read."""
    if state.steps.get(RELEASE, 0) == 0:
        state.spend(RELEASE, 1)
        for number, start in enumerate(range(0, len(data), CHUNK)):
            part = data.take(slice(start, start + CHUNK))
            state.tensors[COPIES][start : start + CHUNK] = noised(config, part, state, number).to(state.device)
        state.steps[RELEASE] = 1
        yield Step(RELEASE, 1, 1)


def noised(config: DPPromiseConfig, part: Records, state: State, number: int) -> Tensor:
    """Copies (B, C, H, W) of chunk `number`, float16; a null record's image is zero, so that its copy is noise alone."""
    images = to_unit_range(part.records).reshape(len(part), -1) * part.mask[:, None]
    released = phase_one.noised(config, images, state.randomness, RELEASE, number)
    return torch.from_numpy(released.astype(np.float16)).view(part.records.shape)


def loss(config: DPPromiseConfig, network: Callable[..., Tensor], state: State, step: int) -> Tensor:
    """The renoised loss on a batch of the copies, which are public: any batch and any number of steps is free."""
    copies = state.tensors[COPIES]
    chosen = fixed_size_batch(state.randomness, "phase one batch", step, len(copies), config.phase_one.batch_size)
    released = copies[torch.from_numpy(chosen).to(copies.device)].float()
    return post_processing_loss(config, network, released, state, step)
