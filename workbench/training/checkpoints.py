"""Checkpoints that know where they were made: a resumed run repeats its steps bit for bit, or says that it cannot."""

import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

from workbench.training.state import PerformanceSettings, State, load_saved, save_atomically


def environment(performance: PerformanceSettings) -> dict[str, str]:
    """What a step's result depends on beside its data, its noise and the state.

    With all of it equal, a replayed step on the CPU repeats itself bit for bit. A microbatch size that was found from free
    memory is part of the state instead, and goes on being used.
    """
    device = performance.torch_device()
    return {
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "CPU capability": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "precision": performance.precision,
        "microbatch size": str(performance.microbatch_size),
    }


def differences(saved: dict[str, str], now: dict[str, str]) -> list[str]:
    """What differs, in words; where anything does, the steps since the checkpoint are drawn anew and counted twice."""
    names = dict.fromkeys([*saved, *now])
    return [f"{name}: {saved.get(name, 'none')} then, {now.get(name, 'none')} now" for name in names if saved.get(name) != now.get(name)]


def save_checkpoint(state: State, path: Path, extra: dict[str, Any] | None = None) -> None:
    """Write the whole state, noise key included, with its environment and `extra` (the event so far, say), atomically."""
    save_atomically({"state": state.checkpoint(), "environment": environment(state.performance), "extra": extra or {}}, path)


def load_checkpoint(state: State, path: Path) -> tuple[list[str], dict[str, Any]]:
    """Restore `state` from `save_checkpoint`; the `differences` of the environments, and `extra`.

    Where there are differences, the caller counts the steps charged since the checkpoint a second time and gives the state
    a fresh noise key: the same noise on other gradients would reveal their difference.
    """
    saved = load_saved(path, state.device)
    state.restore(saved["state"])
    return differences(saved["environment"], environment(state.performance)), saved["extra"]
