# pyright: basic
"""The contract of a layer's rule, and the autograd function that runs a layer by it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from workbench.training.per_record.contributions import Contribution, StoredGradient


@dataclass
class Pass:
    """One forward and backward pass: `num_records` records with `noise_multiplicity` rows each, and what it has yielded.

    Rows are ordered by record: row r K + k is sample k of record r.
    """

    num_records: int
    noise_multiplicity: int
    store: bool  # whether every gradient is wanted in full
    own: frozenset[int] = frozenset()  # the memory of the module's own tensors
    uses: dict[nn.Parameter, int] = field(default_factory=dict)
    contributions: dict[nn.Parameter, Contribution] = field(default_factory=dict)
    anchor: Tensor = field(default_factory=lambda: torch.zeros((), requires_grad=True))  # what the backward pass runs down to

    @property
    def rows(self) -> int:
        """Rows of every batched tensor in this pass."""
        return self.num_records * self.noise_multiplicity

    def may_defer(self, parameter: Tensor) -> bool:
        """Whether a norm is enough: not for a parameter used twice, whose gradients add before their norm is taken.

        Nor where products are rounded more than their operands (TF32, say): the sum that is taken later could be longer
        than the norms that it was clipped by.
        """
        return not self.store and self.uses[cast(nn.Parameter, parameter)] == 1 and multiplies_exactly(parameter.device)

    def by_record(self, values: Tensor) -> Tensor:
        """(rows, ...) as (R, K, ...)."""
        return values.reshape(self.num_records, self.noise_multiplicity, *values.shape[1:])

    def add(self, parameter: nn.Parameter, contribution: Contribution) -> None:
        """Take a contribution in; those of a parameter that is used twice add up."""
        earlier = self.contributions.get(parameter)
        if earlier is not None:
            assert isinstance(earlier, StoredGradient)
            assert isinstance(contribution, StoredGradient)
            contribution = earlier.plus(contribution)
        self.contributions[parameter] = contribution


class LayerRule(ABC):
    """How a kind of layer runs forward, and what its backward pass yields per record. Rules hold no state."""

    def prepare(self, layer: Any, x: Tensor) -> Tensor:
        """What autograd may do to the input before the layer proper (padding that needs a copy, say)."""
        return x

    @abstractmethod
    def forward(self, layer: Any, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The output, and what the backward pass needs besides the input."""

    @abstractmethod
    def backward(
        self, layer: Any, x: Tensor, saved: tuple[Tensor, ...], grad_output: Tensor, needs_input: bool, now: Pass
    ) -> tuple[Tensor | None, dict[str, Contribution]]:
        """Gradient of the input (None if not needed), and the contributions by the parameter's name in the layer."""


def multiplies_exactly(device: torch.device) -> bool:
    """Whether float32 matrix products and convolutions on `device` keep the precision of their operands.

    Where torch cannot say it in one word, since newer settings were used, the answer is no.
    """
    try:
        products = torch.get_float32_matmul_precision() == "highest"
        tf32 = device.type == "cuda" and torch.backends.cudnn.allow_tf32
    except RuntimeError:
        return False
    onednn = getattr(torch.backends.mkldnn, "conv", None)
    reduced = device.type == "cpu" and getattr(onednn, "fp32_precision", "none") not in ("none", "ieee")
    return products and not tf32 and not reduced


def trains(layer: nn.Module, name: str) -> bool:
    """Whether the layer has a parameter `name` that is not frozen."""
    parameter = getattr(layer, name)
    return parameter is not None and parameter.requires_grad


def as_dtype(parameter: Tensor, like: Tensor) -> Tensor:
    """A parameter's values in the computing dtype; rules run outside autograd."""
    return parameter if parameter.dtype == like.dtype else parameter.to(like.dtype)


class RunLayer(torch.autograd.Function):
    """Runs a layer by its rule; its parameters never enter autograd."""

    @staticmethod
    def forward(ctx: Any, _anchor: Tensor, x: Tensor, layer: nn.Module, rule: LayerRule, now: Pass) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):  # x has been cast: what is computed here keeps its dtype
            output, saved = rule.forward(layer, x)
        ctx.save_for_backward(x, *saved)
        ctx.layer, ctx.rule, ctx.now = layer, rule, now
        return torch.ops.aten._unsafe_view(output, output.shape)  # a view to autograd could not be changed in place

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor | None, None, None, None]:
        x, *saved = ctx.saved_tensors
        grad_input, contributions = ctx.rule.backward(ctx.layer, x, tuple(saved), grad_output, ctx.needs_input_grad[1], ctx.now)
        for name, contribution in contributions.items():
            ctx.now.add(getattr(ctx.layer, name), contribution)
        return None, grad_input, None, None, None
