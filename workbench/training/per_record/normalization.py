# pyright: basic
"""Normalisations inside a record: group, instance and layer norm. Those over the batch mix records and are refused."""

from typing import Any

import torch
from torch import Tensor, nn

from workbench.training.per_record.contributions import Contribution, StoredGradient
from workbench.training.per_record.rules import LayerRule, Pass, as_dtype, trains


class GroupNormRule(LayerRule):
    """nn.GroupNorm, and nn.InstanceNorm1d, 2d, 3d as the case of one channel a group.

    The batch is seen as one record of rows C channels in rows G groups: then the ordinary gradients of scale and shift,
    one a channel, are those of every row.
    """

    def forward(self, layer: Any, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        rows, channels = x.shape[:2]
        weight, bias = (None if p is None else as_dtype(p, x).expand(rows, -1).flatten() for p in (layer.weight, layer.bias))
        sizes = (1, rows * channels, x[0, 0].numel(), rows * groups(layer))
        output, mean, rstd = torch.ops.aten.native_group_norm(x.contiguous(), weight, bias, *sizes, layer.eps)
        assert weight is not None  # a norm without parameters has no rule
        return output.view_as(x), (mean, rstd, weight)

    def backward(
        self, layer: Any, x: Tensor, saved: tuple[Tensor, ...], grad_output: Tensor, needs_input: bool, now: Pass
    ) -> tuple[Tensor | None, dict[str, Contribution]]:
        rows, channels = x.shape[:2]
        sizes = (1, rows * channels, x[0, 0].numel(), rows * groups(layer))
        mask = [needs_input, trains(layer, "weight"), trains(layer, "bias")]
        gradients = torch.ops.aten.native_group_norm_backward(grad_output.contiguous(), x.contiguous(), *saved, *sizes, mask)
        named = zip(("weight", "bias"), gradients[1:], mask[1:], strict=True)
        contributions: dict[str, Contribution] = {}
        for name, values, wanted in named:
            if wanted:
                contributions[name] = StoredGradient(now.by_record(values.view(rows, channels)).sum(1))
        return (gradients[0].view_as(x) if needs_input else None), contributions


class LayerNormRule(LayerRule):
    """nn.LayerNorm over any number of last dimensions."""

    def forward(self, layer: nn.LayerNorm, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        weight, bias = (None if p is None else as_dtype(p, x) for p in (layer.weight, layer.bias))
        output, mean, rstd = torch.ops.aten.native_layer_norm(x, layer.normalized_shape, weight, bias, layer.eps)
        return output, (mean, rstd)

    def backward(
        self, layer: nn.LayerNorm, x: Tensor, saved: tuple[Tensor, ...], grad_output: Tensor, needs_input: bool, now: Pass
    ) -> tuple[Tensor | None, dict[str, Contribution]]:
        mean, rstd = saved
        contributions: dict[str, Contribution] = {}
        if trains(layer, "weight"):
            contributions["weight"] = self._summed(grad_output * (x - mean) * rstd, layer, now)
        if trains(layer, "bias"):
            contributions["bias"] = self._summed(grad_output, layer, now)
        if not needs_input:
            return None, contributions
        weight, bias = (None if p is None else as_dtype(p, x) for p in (layer.weight, layer.bias))
        backward = torch.ops.aten.native_layer_norm_backward
        return backward(grad_output, x, layer.normalized_shape, mean, rstd, weight, bias, [True, False, False])[0], contributions

    def _summed(self, values: Tensor, layer: nn.LayerNorm, now: Pass) -> StoredGradient:
        return StoredGradient(values.reshape(now.num_records, -1, *layer.normalized_shape).sum(1))


def groups(layer: Any) -> int:
    """Groups of a group norm; every channel is one of an instance norm."""
    return layer.num_groups if isinstance(layer, nn.GroupNorm) else layer.num_features
