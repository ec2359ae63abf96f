"""Classifier-free guidance: its formula and how often it calls the network."""

import pytest
import torch
from torch import Tensor

from workbench.diffusion import classifier_free


class Recorder:
    """A model whose output is 5 with labels and 2 without, and which counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Tensor, t: Tensor, labels: Tensor | None) -> Tensor:
        self.calls += 1
        return torch.full_like(x, 2.0 if labels is None else 5.0)


@pytest.mark.parametrize(
    ("with_labels", "scale", "value", "calls"), [(True, 0.0, 5.0, 1), (True, 1.5, 9.5, 2), (False, 0.0, 2.0, 1), (False, 1.5, 2.0, 1)]
)
def test_guided_output(with_labels: bool, scale: float, value: float, calls: int) -> None:
    model = Recorder()
    labels = torch.tensor([1, 2]) if with_labels else None
    output = classifier_free(model, labels, scale)(torch.zeros(2, 1, 2, 2), torch.tensor([5, 5]))
    assert torch.all(output == value)
    assert model.calls == calls
