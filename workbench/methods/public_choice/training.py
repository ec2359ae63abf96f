"""The votes: each record's for the public dataset of the image nearest to it, counted on a grid."""

from collections.abc import Iterator

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.public_choice.method import CHOICE, IMAGES, PublicChoiceConfig
from workbench.models.sample_request import SampleRequest
from workbench.models.selection import spaces
from workbench.models.selection.selector import Images
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.state import State, Step


def initial_state(config: PublicChoiceConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the images (candidates, records, C, H, W) and the noisy counts (candidates,)."""
    shape = (len(config.candidates), config.records, *facts.shape)
    state.modules["public_images"] = Images(shape).to(state.device)
    state.tensors["votes"] = torch.zeros(len(config.candidates), dtype=torch.float64, device=state.device)
    return state


def fit(config: PublicChoiceConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """The images, which are public, and then the one release, recorded as spent before a record is read."""
    if state.steps.get(IMAGES, 0) == 0:
        if public is None:
            raise WorkbenchError("Expected public images to choose among, got none.")
        kept = np.moveaxis(public.records.reshape(config.records, len(config.candidates), *public.records.shape[1:]), 1, 0)
        images_of(state).copy_(torch.from_numpy(np.ascontiguousarray(kept)))
        state.steps[IMAGES] = 1
        yield Step(IMAGES, 1, 1, private=False)
    if state.steps.get(CHOICE, 0) == 0:
        yield vote(config, data, state)


def vote(config: PublicChoiceConfig, data: Records, state: State) -> Step:
    """The noisy counts."""
    assert config.noise_multiplier is not None
    state.spend(CHOICE, 1)
    grid = Grid(config.noise_multiplier, max_norm=1.0, num_records=state.facts.num_records)
    one = int(grid.truncated(np.ones((1, 1)))[0, 0])  # vote, in steps
    noisy = state.randomness.release(CHOICE, 1, counts(config, data, state) * one, grid)
    state.tensors["votes"] = torch.from_numpy(noisy).to(state.device)
    state.steps[CHOICE] = 1
    values = {f"votes for {name}": float(count) for name, count in zip(config.names, noisy, strict=True)}
    return Step(CHOICE, 1, 1, values, private=False, kept=True)  # of noisy counts


def counts(config: PublicChoiceConfig, data: Records, state: State) -> np.ndarray:
    """How many records that are present have their nearest image in each dataset, int64 (candidates,); labels have no part in it."""
    images = images_of(state)
    _, height, width = state.facts.shape
    space = spaces.blurred_pixels(config.blur, height, width, state.device)
    votes = spaces.count_votes(space, images.flatten(0, 1)[None], Records(data.records, present=data.present), 1)
    return votes.reshape(len(images), -1).sum(axis=1)


def sample(config: PublicChoiceConfig, state: State, request: SampleRequest) -> Records:
    """Images of the dataset with the most noisy votes, drawn evenly, with labels in turn."""
    generator = state.randomness.torch_generator(request.purpose, 0, state.device)
    images = images_of(state)[int(state.tensors["votes"].argmax())]
    index = torch.randint(len(images), (request.num_samples,), generator=generator, device=state.device)
    return Records(images[index].cpu().numpy(), request.label_array(state.facts.num_classes))


def images_of(state: State) -> torch.Tensor:
    """The candidates' images uint8 (candidates, records, C, H, W)."""
    module = state.modules["public_images"]
    assert isinstance(module, Images)
    return module.images
