"""The device that measures compute on: the CPU unless a block says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import device as Device

CPU = "cpu"
_NAME: ContextVar[str] = ContextVar("device of measures", default=CPU)


@contextmanager
def measuring_on(name: str | None) -> Iterator[None]:
    """Compute networks, features and distances within the block on a device by its name; None leaves all as it is."""
    token = _NAME.set(name or _NAME.get())
    try:
        yield
    finally:
        _NAME.reset(token)


def chosen_device(name: str | None) -> str | None:
    """A device by its own name, None for the CPU; refuses one that is not there. `name` is auto, cpu, cuda or cuda:N, None the CPU."""
    from workbench.training.state import PerformanceSettings

    device = CPU if name is None else str(PerformanceSettings(device=name).torch_device())
    return None if device == CPU else device


def name() -> str:
    """The name of the device that measures compute on at this moment."""
    return _NAME.get()


def mark() -> tuple[str, ...]:
    """What tells what was trained here from what another device trained, whose sums are rounded otherwise; nothing on the CPU."""
    return () if name() == CPU else (current_device().type,)


def current_device() -> Device:
    """The device that measures compute on at this moment."""
    return torch.device(name())
