"""Small networks, their losses, and per-record gradients by `torch.func` to hold ours against."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap


def row_losses(output: Tensor) -> Tensor:
    """An uneven quadratic loss per row of (rows, ...)."""
    flat = output.flatten(1)
    return (flat.square() * torch.linspace(0.5, 1.0, flat.shape[1], dtype=flat.dtype)).sum(1)


def losses_of(module: nn.Module, x: Tensor) -> Callable[[], Tensor]:
    """What `PerRecordGradients` takes."""
    return lambda: row_losses(module(x))


def reference(module: nn.Module, x: Tensor, noise_multiplicity: int) -> dict[str, Tensor]:
    """Every record's gradient of its mean loss, by `torch.func.vmap(grad)`."""
    parameters = {name: p.detach() for name, p in module.named_parameters() if p.requires_grad}

    def loss(values: dict[str, Tensor], record: Tensor) -> Tensor:
        return row_losses(functional_call(module, values, (record,))).mean()

    return vmap(grad(loss), (None, 0))(parameters, x.view(-1, noise_multiplicity, *x.shape[1:]))


def reference_clipped(gradients: dict[str, Tensor], max_grad_norm: float) -> dict[str, Tensor]:
    """The clipped sum of per-record gradients."""
    norms = torch.stack([g.flatten(1).square().sum(1) for g in gradients.values()]).sum(0).sqrt()
    factors = (max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
    return {name: torch.einsum("r,r...->...", factors, g) for name, g in gradients.items()}


def assert_close(actual: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    """Equal names, and relative distance within tolerance (of the whole where a part is zero)."""
    assert set(actual) == set(expected)
    whole = torch.stack([value.norm() for value in expected.values()]).norm()
    for name, value in expected.items():
        assert actual[name].shape == value.shape
        distance = (actual[name] - value).norm()
        assert distance <= tolerance * value.norm() + 1e-2 * tolerance * whole, (name, float(distance / value.norm()))


class Own(nn.Module):
    """A parameter of its own beside a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2.0, 6))
        self.layer = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(torch.tanh(x * self.scale))


class CalledTwice(nn.Module):
    """One layer at two places."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(torch.tanh(self.layer(x)))


class TiedWeight(nn.Module):
    """One weight in two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)))


class UsedOutside(nn.Module):
    """A layer's weight used without the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x)) @ self.layer.weight


class Attention(nn.Module):
    """torch's own attention, which has no rule."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class AttentionOfLinears(nn.Module):
    """Attention built of layers that have rules."""

    def __init__(self) -> None:
        super().__init__()
        self.query_key_value, self.projection = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.query_key_value(x).chunk(3, dim=-1)
        return x + self.projection((query @ key.transpose(-1, -2)).softmax(-1) @ value)


class Lookup(nn.Module):
    """An embedding of indices that come as floats, padding among them."""

    def __init__(self, tokens: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, 5, padding_idx)
        self.projection = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        index = (x.abs() * 2).long().clamp(max=self.embedding.num_embeddings - 1)
        return self.projection(torch.tanh(self.embedding(index)))


class WithTable(nn.Module):
    """A layer without a rule that is handed a table of 5 rows of its parent's."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.linspace(-1, 1, 30).view(5, 6))
        self.inner = AddsRows()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x, self.table)


class AddsRows(nn.Module):
    """A scaled sum with the first rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2.0, 6))

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        return torch.tanh(x * self.scale + self.scale * table[: x.shape[1]])


class InsideAndOutside(nn.Module):
    """A layer of its own, used by a unit without a rule and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.unit = Own()
        self.again = self.unit.layer
        self.widen = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.widen(self.unit(x)))


class WithOutputSize(nn.Module):
    """A transposed convolution that is told its output's size."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ConvTranspose2d(2, 2, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, output_size=[10, 10])
