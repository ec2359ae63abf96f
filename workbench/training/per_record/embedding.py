"""Embeddings: a record touches a handful of rows, so its gradient is never written out unless asked for."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.training.per_record.contributions import Contribution, DeferredGradient, StoredGradient
from workbench.training.per_record.ghost import gram, squared_ghost_norms
from workbench.training.per_record.rules import LayerRule, Pass


class EmbeddingRule(LayerRule):
    """nn.Embedding on (rows, ...) indices, with or without padding_idx."""

    def forward(self, layer: nn.Embedding, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return F.embedding(x, layer.weight), ()

    def backward(
        self, layer: nn.Embedding, x: Tensor, saved: tuple[Tensor, ...], grad_output: Tensor, needs_input: bool, now: Pass
    ) -> tuple[Tensor | None, dict[str, Contribution]]:
        index = x.reshape(now.num_records, -1)  # (R, T)
        grads = grad_output.reshape(*index.shape, layer.embedding_dim)  # (R, T, D)
        if layer.padding_idx is not None:
            grads = grads.masked_fill((index == layer.padding_idx).unsqueeze(2), 0)
        if now.may_defer(layer.weight) and grads.dtype in (torch.float32, torch.float64):
            return None, {"weight": deferred_rows(layer.num_embeddings, index, grads)}
        return None, {"weight": StoredGradient(written_out(layer.num_embeddings, index, grads))}


def deferred_rows(num_embeddings: int, index: Tensor, grads: Tensor) -> DeferredGradient:
    """Squared norm of a record: <g_i, g_j> summed over all pairs of positions that hold the same index."""
    products = gram(grads)
    same = (index.unsqueeze(1) == index.unsqueeze(2)).to(products.dtype)
    norms = squared_ghost_norms(products, same, grads.dtype)

    def weight_gradient(rows: Tensor, values: Tensor) -> Tensor:
        table = values.new_zeros(num_embeddings, values.shape[-1])
        return table.index_add_(0, rows.flatten(), values.flatten(0, 1))

    return DeferredGradient(norms, index, grads, weight_gradient)


def written_out(num_embeddings: int, index: Tensor, grads: Tensor) -> Tensor:
    """Per-record gradients (R, num_embeddings, D)."""
    table = grads.new_zeros(index.shape[0], num_embeddings, grads.shape[2])
    return table.scatter_add_(1, index.unsqueeze(2).expand_as(grads), grads)
