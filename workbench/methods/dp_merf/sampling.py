"""Sampling from DP-MERF's generator, which is post-processing of the release."""

import numpy as np
import torch

from workbench.datasets.base import to_uint8
from workbench.methods.dp_merf.config import DPMERFConfig
from workbench.models import label_counts
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State


def sample(config: DPMERFConfig, state: State, request: SampleRequest) -> Records:
    """Images of the generator for standard normal inputs; labels follow their counts, if these are released."""
    labels = label_counts.asked(config.labels, request, state).label_array(state.facts.num_classes)
    rows = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
    draw = state.randomness.torch_generator(request.purpose)
    latent = torch.randn(request.num_samples, config.latent_size, generator=draw)
    generator = state.modules["generator"].eval()
    with torch.no_grad():
        chunks = [
            generator(z.to(state.device), y.to(state.device)).cpu() for z, y in zip(latent.split(1000), rows.split(1000), strict=True)
        ]
    images = torch.cat(chunks).numpy() if chunks else np.zeros((0, *state.facts.shape), np.float32)
    return Records(to_uint8(images), labels)
