"""Which way each teacher would move generated images, and a generator that follows what is released of that."""

import torch
from torch import Tensor
from torch.nn import functional

from workbench.models.embeddings.config import GENERATOR
from workbench.models.teachers.ensemble import beside, teachers_of
from workbench.models.teachers.rounds import queried_images, round_inputs
from workbench.training.state import State


def wished_moves(images: Tensor, classes: Tensor, state: State) -> Tensor:
    """Minus the gradient of the generator's loss (cross-entropy) at images (B, C, H, W) by every teacher, (K, B, D).

    A teacher's are its own, and private.
    """
    teachers, inputs = teachers_of(state), beside(images, classes, state)
    each = inputs.expand(len(teachers.first), *inputs.shape).clone().requires_grad_(True)
    with torch.enable_grad():
        (slopes,) = torch.autograd.grad(functional.softplus(-teachers(each)).sum(), each)
    return -slopes[..., : images[0].numel()]


def following_loss(moves: Tensor, state: State) -> Tensor:
    """How far the generator's images are, in mean square, from those that were voted about and then moved by `moves` (B, D)."""
    before, classes = queried_images(state)
    images = state.modules[GENERATOR].train()(round_inputs(state).latents, classes)
    return (images - (before + moves.to(before.dtype).view_as(before))).square().mean()
