"""Images by batches, against all of them as one tensor."""

import numpy as np
import torch

from workbench.datasets import load, to_unit_range
from workbench.training.entries import Images


def test_images_by_batches_are_those_of_one_tensor_to_the_bit() -> None:
    data = load("digits").train.without(np.array([3, 1499]))
    whole = torch.from_numpy(to_unit_range(data.records))
    whole[[3, 1499]] = 0.0
    images = Images(data, torch.device("cpu"))
    assert (images.shape, len(images)) == ((1500, 1, 8, 8), 1500)
    for index in (torch.arange(1500), torch.tensor([7, 3, 3, 1499]), torch.zeros(0, dtype=torch.int64)):
        assert torch.equal(images[index], whole[index])
        assert images[index].dtype == torch.float32
    images[torch.tensor([5])].fill_(9.0)
    assert torch.equal(images[torch.tensor([5])], whole[[5]]), "what is handed out is a copy"
