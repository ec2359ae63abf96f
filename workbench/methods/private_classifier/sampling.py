"""Public images under the labels that the classifier gave them, and the classifier itself: post-processing of the noisy gradients."""

import numpy as np
import torch

from workbench.methods.private_classifier import features, training
from workbench.methods.private_classifier.config import PrivateClassifierConfig
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.selector import Images
from workbench.records import Records
from workbench.training.state import State

PART = 1_000


def sample(state: State, request: SampleRequest) -> Records:
    """Images that were kept of the classes asked for, drawn evenly."""
    labels = request.label_array(state.facts.num_classes)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    module = state.modules["labelled_images"]
    assert isinstance(module, Images)
    generator = state.randomness.torch_generator(request.purpose)
    index = torch.randint(module.images.shape[1], (request.num_samples,), generator=generator)
    return Records(module.images[torch.from_numpy(rows), index].cpu().numpy(), labels)


def classified(config: PrivateClassifierConfig, state: State, records: Records) -> np.ndarray:
    """The class (N,) that the classifier gives each record."""
    scatter, weights = features.scattering_of(config, state.facts), training.classifier(config, state)
    parts = [records.take(slice(start, start + PART)) for start in range(0, len(records), PART)]
    found = [(features.turned(scatter(part.records), state) @ weights).argmax(axis=1) for part in parts]
    return np.concatenate(found) if found else np.zeros(0, np.int64)
