"""What one layer contributes to the per-record gradients of a parameter: stored, or only its norm with a way to sum it."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

SMALL = 4096  # values a record; smaller gradients are clipped together, one operation for all of them
PIECE = 512  # squares that float32 adds up


class Contribution(ABC):
    """The per-record gradients of one parameter, as far as clipping needs them."""

    @property
    @abstractmethod
    def squared_norms(self) -> Tensor:
        """Squared Euclidean norm of each record's gradient, (R,)."""

    @abstractmethod
    def weighted_sum(self, factors: Tensor) -> Tensor:
        """The sum over records of `factors[r]` times the gradient of record r, in the parameter's shape."""

    @abstractmethod
    def erase(self, records: Tensor) -> None:
        """Make the gradients of `records` (R,) bool zero, whatever stands there (infinities, NaN)."""


class StoredGradient(Contribution):
    """Per-record gradients in full, (R, *parameter.shape); norms of large ones are taken at once, while they are in cache."""

    def __init__(self, gradient: Tensor) -> None:
        self.gradient = gradient
        self.is_small = gradient.shape[1:].numel() <= SMALL
        self._squared_norms = None if self.is_small else squared_norms(gradient)

    @property
    def squared_norms(self) -> Tensor:
        return squared_norms(self.gradient) if self._squared_norms is None else self._squared_norms

    def weighted_sum(self, factors: Tensor) -> Tensor:
        flat = at_least_float32(by_record(self.gradient))
        return torch.mv(flat.t(), factors.to(flat.dtype)).reshape(self.gradient.shape[1:])

    def erase(self, records: Tensor) -> None:
        self.gradient[records] = 0.0

    def plus(self, other: "StoredGradient") -> "StoredGradient":
        """The gradients of a parameter that is used twice."""
        return StoredGradient(self.gradient + other.gradient)


class DeferredGradient(Contribution):
    """Per-record gradients known by their norms alone (a ghost norm).

    The weighted sum is one ordinary weight gradient: `weight_gradient(layer_input, grad_output)` with each record's rows of
    `grad_output` scaled by its factor.
    """

    def __init__(
        self, norms: Tensor, layer_input: Tensor, grad_output: Tensor, weight_gradient: Callable[[Tensor, Tensor], Tensor]
    ) -> None:
        self._squared_norms = norms
        self._layer_input = layer_input  # (rows, ...)
        self._grad_output = grad_output  # (rows, ...)
        self._weight_gradient = weight_gradient

    @property
    def squared_norms(self) -> Tensor:
        return self._squared_norms

    def weighted_sum(self, factors: Tensor) -> Tensor:
        row_factors = factors.to(self._grad_output.dtype).repeat_interleave(len(self._grad_output) // len(factors))
        scaled = self._grad_output * row_factors.view(-1, *[1] * (self._grad_output.dim() - 1))
        return self._weight_gradient(self._layer_input, scaled)

    def erase(self, records: Tensor) -> None:
        rows = records.repeat_interleave(len(self._grad_output) // len(records)).nonzero().flatten()
        self._grad_output = self._grad_output.index_fill(0, rows, 0)
        self._layer_input = self._layer_input.index_fill(0, rows, 0)


def by_record(gradient: Tensor) -> Tensor:
    """(R, *shape) as (R, values); a parameter without dimensions has one value."""
    return gradient.reshape(len(gradient), -1)


def squared_norms(gradient: Tensor) -> Tensor:
    """Squared Euclidean norm per record of (R, ...) gradients, float64 (R,), right to 1e-5 of it.

    Float32 holds sums of `PIECE` squares alone, which are added up in float64: one sum over millions of equal entries would fall
    short by a thousandth, and the record would be clipped to more than the clipping norm.
    """
    flat = at_least_float32(by_record(gradient))
    whole = flat.shape[1] - flat.shape[1] % PIECE
    pieces = torch.linalg.vector_norm(flat[:, :whole].unflatten(1, (whole // PIECE, PIECE)), dim=2)
    rest = torch.linalg.vector_norm(flat[:, whole:], dim=1)
    return pieces.double().square().sum(1) + rest.double().square()


def at_least_float32(values: Tensor) -> Tensor:
    """Half-precision values in float32, others as they are."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
