"""The digest of this process's arithmetic: equal where a private step's bits are, another where they are not."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, build_diffusion
from workbench.models import image_diffusion
from workbench.networks import MLP, UNETS, UNet, initialized
from workbench.records import ImageKind
from workbench.training.arithmetic import arithmetic
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings

FACTS = DatasetFacts(name="made", num_records=30, kind=ImageKind(size=(1, 8, 8)), classes=("a", "b"))
CPU = PerformanceSettings(device="cpu")
TOLD = """
import json, torch
torch.set_num_threads(1)
from tests.training.test_arithmetic import digest_and_weights
print(json.dumps(digest_and_weights()))
"""


def digest_and_weights() -> tuple[str, str]:
    """The digest, and that of a network's weights after two private steps."""
    network = initialized(lambda: UNet(UNETS["digits"], 1, 8, 2), torch.Generator().manual_seed(0))
    optimizer, randomness = torch.optim.Adam(network.parameters(), lr=0.01), Randomness.from_seed(0)
    step = PrivateStep(network, optimizer, noise_multiplier=1.0, max_grad_norm=0.1, expected_batch_size=6.0, randomness=randomness)
    images = torch.linspace(-1, 1, 6 * 64).view(6, 1, 8, 8)
    losses = image_diffusion.row_losses(build_diffusion(DiffusionConfig()), network, (images, torch.arange(6) % 3), 900)
    for number in (1, 2):
        step.step(number, np.arange(6), losses)
    weights = hashlib.sha256(b"".join(parameter.detach().numpy().tobytes() for parameter in network.parameters()))
    return arithmetic(CPU, FACTS, [network]), weights.hexdigest()


@cache
def in_a_process(*settings: str) -> tuple[str, str]:
    """The same in a process of its own with environment variables."""
    environment: Mapping[str, str] = os.environ | dict(setting.split("=") for setting in settings)
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", TOLD], cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    digest, weights = json.loads(ended.stdout)
    return digest, weights


def test_another_process_computes_alike() -> None:
    assert in_a_process() == digest_and_weights()


@pytest.mark.parametrize("setting", ["ONEDNN_MAX_CPU_ISA=SSE41", "MKL_CBWR=COMPATIBLE"])
def test_a_setting_that_changes_the_weights_changes_the_digest(setting: str) -> None:
    usual, changed = in_a_process(), in_a_process(setting)
    if usual[1] == changed[1]:
        pytest.skip(f"{setting} changes no bit on this processor")
    assert usual[0] != changed[0]


def test_precision_layout_network_and_shape_are_told_apart() -> None:
    network = UNet(UNETS["tiny"], 1, 12, 2)
    larger = FACTS.at_size((1, 12, 12))
    digests = {
        arithmetic(CPU, FACTS, []),
        arithmetic(CPU, larger, [network]),
        arithmetic(PerformanceSettings(device="cpu", precision="bfloat16"), FACTS, []),
    }
    assert len(digests) == 3
    assert all(len(digest) == 16 for digest in digests)
    assert arithmetic(CPU, FACTS, [MLP((1, 8, 8), 2)]) == arithmetic(CPU, larger, []) == arithmetic(CPU, FACTS, [])
    fresh = UNet(UNETS["tiny"].model_copy(update={"num_heads": 2}), 1, 12, 2)  # one that was not looked at before
    before = torch.get_rng_state()
    assert arithmetic(CPU, larger, [fresh]) not in digests
    assert torch.equal(before, torch.get_rng_state())
