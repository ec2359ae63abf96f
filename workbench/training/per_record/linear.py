# pyright: basic
"""Linear layers with any leading dimensions: outer products by record, or norms from Gram matrices."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.training.per_record.contributions import Contribution, DeferredGradient, StoredGradient
from workbench.training.per_record.ghost import gram, squared_ghost_norms
from workbench.training.per_record.rules import LayerRule, Pass, as_dtype, trains


class LinearRule(LayerRule):
    """nn.Linear on (rows, ..., in_features)."""

    def forward(self, layer: nn.Linear, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return F.linear(x, as_dtype(layer.weight, x), None if layer.bias is None else as_dtype(layer.bias, x)), ()

    def backward(
        self, layer: nn.Linear, x: Tensor, saved: tuple[Tensor, ...], grad_output: Tensor, needs_input: bool, now: Pass
    ) -> tuple[Tensor | None, dict[str, Contribution]]:
        inputs = x.reshape(now.num_records, -1, layer.in_features)  # (R, T, in)
        grads = grad_output.reshape(now.num_records, -1, layer.out_features)  # (R, T, out)
        contributions: dict[str, Contribution] = {}
        if trains(layer, "bias"):
            contributions["bias"] = StoredGradient(grads.sum(1))
        if trains(layer, "weight"):
            contributions["weight"] = linear_weight(inputs, grads, now.may_defer(layer.weight))
        return (grad_output @ as_dtype(layer.weight, x) if needs_input else None), contributions


def linear_weight(inputs: Tensor, grads: Tensor, may_defer: bool) -> Contribution:
    """Contribution of a weight (out, in) that maps (R, T, in) to (R, T, out)."""
    tokens, size_in, size_out = inputs.shape[1], inputs.shape[2], grads.shape[2]
    exact = grads.dtype in (torch.float32, torch.float64)
    if may_defer and exact and 2 * tokens * (size_in + size_out) <= size_in * size_out:
        norms = squared_ghost_norms(gram(grads), gram(inputs), grads.dtype)
        return DeferredGradient(norms, inputs, grads, summed_outer_products)
    return StoredGradient(torch.bmm(grads.transpose(1, 2), inputs))


def summed_outer_products(inputs: Tensor, grads: Tensor) -> Tensor:
    """(out, in) from (R, T, in) and (R, T, out)."""
    return grads.flatten(0, 1).t() @ inputs.flatten(0, 1)
