"""Convolutions: all records in one grouped weight-gradient call, a call per record, or a norm from Gram matrices."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.training.per_record.contributions import Contribution, DeferredGradient, StoredGradient
from workbench.training.per_record.ghost import gram, squared_ghost_norms
from workbench.training.per_record.rules import LayerRule, Pass, as_dtype, trains

LOOP_PIXELS = 400  # from 20 x 20 pixels a call per record is cheaper than one that first transposes (K, R C, H, W)
GRAM_PIXELS = 64  # up to 8 x 8 positions a record, Gram matrices are smaller than the gradient


class ConvolutionRule(LayerRule):
    """Conv1d, Conv2d, Conv3d and ConvTranspose1d, 2d, 3d with stride, padding, dilation, groups and any padding mode."""

    def prepare(self, layer: Any, x: Tensor) -> Tensor:
        if not pads_outside(layer):
            return x
        return F.pad(x, layer._reversed_padding_repeated_twice, "constant" if layer.padding_mode == "zeros" else layer.padding_mode)

    def forward(self, layer: Any, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        bias = None if layer.bias is None else as_dtype(layer.bias, x)
        return torch.convolution(x, as_dtype(layer.weight, x), bias, *geometry(layer), layer.groups), ()

    def backward(
        self, layer: Any, x: Tensor, saved: tuple[Tensor, ...], grad_output: Tensor, needs_input: bool, now: Pass
    ) -> tuple[Tensor | None, dict[str, Contribution]]:
        contributions: dict[str, Contribution] = {}
        if trains(layer, "bias"):
            contributions["bias"] = StoredGradient(now.by_record(grad_output.flatten(2).sum(2)).sum(1))
        if trains(layer, "weight"):
            contributions["weight"] = self._weight(layer, x, grad_output, now)
        return (input_gradient(layer, x, grad_output) if needs_input else None), contributions

    def _weight(self, layer: Any, x: Tensor, grad_output: Tensor, now: Pass) -> Contribution:
        large = now.noise_multiplicity > 1 and grad_output[0, 0].numel() >= LOOP_PIXELS
        if large:
            return StoredGradient(one_by_one(layer, x, grad_output, now))
        if is_pointwise(layer):
            gradient = torch.bmm(by_channel(grad_output, now), by_channel(x, now).transpose(1, 2))
            return StoredGradient(gradient.view(-1, *layer.weight.shape))
        if now.may_defer(layer.weight) and gram_pays(layer, grad_output, now):
            norms = gram_norms(layer, x, grad_output)
            return DeferredGradient(norms, x, grad_output, lambda inputs, grads: weight_gradient(layer, inputs, grads))
        return StoredGradient(all_at_once(layer, x, grad_output, now))


def by_channel(values: Tensor, now: Pass) -> Tensor:
    """(R K, C, ...) as (R, C, K pixels): a view for K = 1, a copy beyond."""
    return now.by_record(values).transpose(1, 2).flatten(2)


def is_pointwise(layer: Any) -> bool:
    """Whether the layer is a linear map of each pixel."""
    return not layer.transposed and prod((*layer.kernel_size, *layer.stride, layer.groups)) == 1 and not any(geometry(layer)[1])


def pads_outside(layer: Any) -> bool:
    """Whether the padding is a copy that autograd makes before the convolution ("same", reflect, replicate, circular)."""
    return layer.padding_mode != "zeros" or layer.padding == "same"


def geometry(layer: Any) -> tuple[Sequence[int], Sequence[int], Sequence[int], bool, Sequence[int]]:
    """Stride, padding, dilation, whether transposed, and output padding, as `torch.convolution` takes them."""
    dims = len(layer.kernel_size)
    padding = [0] * dims if pads_outside(layer) or layer.padding == "valid" else layer.padding
    return layer.stride, padding, layer.dilation, layer.transposed, layer.output_padding


def convolution_backward(layer: Any, x: Tensor, grad_output: Tensor, weight: Tensor, groups: int, which: int) -> Tensor:
    """Gradient of the input (`which` 0) or of the weight (1) of the layer's convolution, with other weights and groups."""
    mask = [which == 0, which == 1, False]
    return torch.ops.aten.convolution_backward(grad_output, x, weight, None, *geometry(layer), groups, mask)[which]


def input_gradient(layer: Any, x: Tensor, grad_output: Tensor) -> Tensor:
    """The ordinary gradient of the input."""
    return convolution_backward(layer, x, grad_output, as_dtype(layer.weight, x), layer.groups, 0)


def weight_gradient(layer: Any, x: Tensor, grad_output: Tensor) -> Tensor:
    """The ordinary gradient of the weight, summed over all rows."""
    return convolution_backward(layer, x, grad_output, as_dtype(layer.weight, x), layer.groups, 1)


def all_at_once(layer: Any, x: Tensor, grad_output: Tensor, now: Pass) -> Tensor:
    """Per-record weight gradients (R, *weight.shape) from one call that sees the records as groups of (K, R C, H, W)."""
    shape = (now.num_records, *layer.weight.shape)
    weight = x.new_empty(()).expand(shape[0] * shape[1], *shape[2:])  # only its shape is read
    gradient = convolution_backward(layer, as_groups(x, now), as_groups(grad_output, now), weight, now.num_records * layer.groups, 1)
    return gradient.view(shape)


def as_groups(values: Tensor, now: Pass) -> Tensor:
    """(R K, C, ...) as (K, R C, ...): a view for K = 1, a copy beyond."""
    return now.by_record(values).transpose(0, 1).flatten(1, 2)


def one_by_one(layer: Any, x: Tensor, grad_output: Tensor, now: Pass) -> Tensor:
    """Per-record weight gradients (R, *weight.shape) from one ordinary call per record."""
    gradient = x.new_empty(now.num_records, *layer.weight.shape)
    for record, (inputs, grads) in enumerate(zip(now.by_record(x), now.by_record(grad_output), strict=True)):
        gradient[record] = weight_gradient(layer, inputs, grads)
    return gradient


def gram_pays(layer: Any, grad_output: Tensor, now: Pass) -> bool:
    """Whether Gram matrices cost less than the gradients: one row a record, few positions, many channels, plain geometry."""
    positions = prod(grad_output.shape[2:])
    plain = isinstance(layer, nn.Conv2d) and layer.groups == 1 and not pads_outside(layer) and layer.padding != "valid"
    plain = plain and set(layer.stride) == {1} and set(layer.dilation) == {1} and grad_output.dtype in (torch.float32, torch.float64)
    cheap = positions <= GRAM_PIXELS and 2 * positions <= min(layer.in_channels, layer.out_channels) * prod(layer.kernel_size)
    return now.noise_multiplicity == 1 and plain and cheap


def gram_norms(layer: Any, x: Tensor, grad_output: Tensor) -> Tensor:
    """Squared norms (R,) of the weight gradients of a 2-d convolution of stride and dilation 1.

    With G the gradient at the output and X_d the input seen through kernel offset d, the gradient is sum_p G(p) X_d(p), so
    its squared norm is sum_{p,q} <G(p), G(q)> sum_d <X_d(p), X_d(q)>; all X_d share one Gram matrix of the padded input.
    """
    rows, _, height, width = grad_output.shape
    inputs = gram(x.flatten(2).transpose(1, 2)).view(rows, *x.shape[2:], *x.shape[2:])
    seen = inputs.new_zeros(rows, height, width, height, width)
    for i, j in product(range(layer.kernel_size[0]), range(layer.kernel_size[1])):
        to_i, from_i = overlap(height, x.shape[2], i - layer.padding[0])
        to_j, from_j = overlap(width, x.shape[3], j - layer.padding[1])
        seen[:, to_i, to_j, to_i, to_j] += inputs[:, from_i, from_j, from_i, from_j]
    outputs = gram(grad_output.flatten(2).transpose(1, 2))
    return squared_ghost_norms(outputs, seen.view_as(outputs), grad_output.dtype)


def overlap(size: int, input_size: int, offset: int) -> tuple[slice, slice]:
    """Positions 0, .., size - 1 of an output whose input at `offset` lies inside the image, and those inputs."""
    first, last = max(0, -offset), max(0, min(size, input_size - offset), -offset)
    return slice(first, last), slice(first + offset, last + offset)
