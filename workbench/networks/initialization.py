"""Networks initialised from a run's own randomness."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def initialized(build: Callable[[], M], generator: torch.Generator) -> M:
    """What `build()` returns, with parameters drawn from `generator` (on the CPU); torch's global stream is left as it was."""
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()
