# pyright: basic
"""Per-record gradients of a module from one backward pass, and their clipped sum."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workbench.errors import WorkbenchError
from workbench.training.per_record.clipping import Clipping, clip_groups
from workbench.training.per_record.fallback import UnitCall
from workbench.training.per_record.layers import Layer, find_layers, frozen_layers, has_rule, piece, refuse_mixing_layers
from workbench.training.per_record.rows import check_rows, unknown_module
from workbench.training.per_record.rules import Pass, RunLayer

logger = logging.getLogger(__name__)

Losses = Callable[[], Tensor]


@dataclass(frozen=True)
class ClippedSum:
    """The sum over records of clipped gradients, by parameter name, and what it was made from (which stays in the room)."""

    gradients: dict[str, Tensor]
    norms: Tensor  # (R,) before clipping
    losses: Tensor  # (rows,)


class PerRecordGradients:
    """Exact per-record gradients of a module's loss averaged over `noise_multiplicity` rows of each record.

    Parameters stay out of autograd: known layers take their weight gradients grouped by record, anything else goes through
    `torch.func` with one log line. Layers that mix records are refused by name. Parameters that are frozen when this is made
    are skipped.
    """

    def __init__(self, module: nn.Module, noise_multiplicity: int = 1) -> None:
        if noise_multiplicity < 1:
            raise WorkbenchError(f"Expected noise_multiplicity of at least 1, got {noise_multiplicity}.")
        refuse_mixing_layers(module)
        self.module = module
        self.noise_multiplicity = noise_multiplicity
        self.parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self.layers = find_layers(module)
        self.frozen = frozen_layers(module)

    def mixing_possible(self) -> str | None:
        """Why records might mix in a pass that they share; None where the module's layers prove that they cannot."""
        return unknown_module(self.module, has_rule, [layer.module for layer in self.layers if layer.rule is None])

    def gradients(self, losses: Losses, num_records: int) -> dict[str, Tensor]:
        """Every record's gradient by parameter name, (R, *parameter.shape).

        `losses()` runs the module on rows ordered by record (row r K + k is sample k of record r) and returns one loss a
        row, (R K,). It is not called where there is no record.
        """
        if num_records == 0:
            return {name: p.new_zeros(0, *p.shape) for name, p in self.parameters.items()}
        now, _ = self._run(losses, num_records, store=True)
        return {name: self._stored(now, p) for name, p in self.parameters.items()}

    def clipped_sum(self, losses: Losses, num_records: int, max_grad_norm: float | Sequence[Clipping]) -> ClippedSum:
        """The sum of all records' gradients, each scaled down to Euclidean norm `max_grad_norm` over all parameters.

        In place of one norm there may be groups of parameters, each parameter in one, with a norm for each group. A gradient
        that is not finite (over a group) counts as zero. `losses` as in `gradients`.
        """
        if num_records == 0:
            nothing = torch.zeros(0)
            return ClippedSum({name: torch.zeros_like(p) for name, p in self.parameters.items()}, nothing, nothing)
        now, row_losses = self._run(losses, num_records, store=False)
        if not now.contributions:
            return ClippedSum({name: torch.zeros_like(p) for name, p in self.parameters.items()}, torch.zeros(num_records), row_losses)
        groups = [(set(now.contributions), max_grad_norm)] if isinstance(max_grad_norm, float | int) else max_grad_norm
        sums, norms = clip_groups(now.contributions, groups)
        unused = {name: torch.zeros_like(p) for name, p in self.parameters.items() if p not in sums}
        return ClippedSum({name: sums[p] for name, p in self.parameters.items() if p in sums} | unused, norms, row_losses)

    def _stored(self, now: Pass, parameter: nn.Parameter) -> Tensor:
        contribution: Any = now.contributions.get(parameter)
        return parameter.new_zeros(now.num_records, *parameter.shape) if contribution is None else contribution.gradient

    def _run(self, losses: Losses, num_records: int, store: bool) -> tuple[Pass, Tensor]:
        refuse_mixing_layers(self.module)  # as it is now: a frozen batch norm may have been put back to training
        now = Pass(num_records, self.noise_multiplicity, store, own=storages(self.module))
        with self._running(now):
            row_losses = losses()
            if row_losses.shape != (now.rows,):
                raise WorkbenchError(f"Expected one loss per row, ({now.rows},), got {tuple(row_losses.shape)}.")
            outside = self._backward(row_losses / self.noise_multiplicity, now)
        if outside:
            self._take_whole(outside)
            return self._run(losses, num_records, store)
        return now, row_losses.detach()

    def _backward(self, losses: Tensor, now: Pass) -> list[str]:
        """Run the backward pass; names of the parameters that were used outside their layer, hence by autograd."""
        parameters = self.parameters
        gradients = torch.autograd.grad(losses.sum(), [now.anchor, *parameters.values()], allow_unused=True)
        return [name for name, gradient in zip(parameters, gradients[1:], strict=True) if gradient is not None]

    def _take_whole(self, outside: list[str]) -> None:
        if len(self.layers) == 1 and self.layers[0].module is self.module:
            raise WorkbenchError(f"Expected the loss to use {outside[0]} only through the module's forward, but it uses it directly.")
        logger.warning("%s used outside its layer: the whole module goes through torch.func.", outside[0])
        self.layers = [piece("module", self.module, None)]

    @contextmanager
    def _running(self, now: Pass) -> Iterator[None]:
        """Within, the module's layers run by their rules and yield into `now`."""
        try:
            for layer in self.frozen:
                layer.module.forward = self._frozen(layer, now)
            for layer in self.layers:
                layer.module.forward = self._unit(layer, now) if layer.rule is None else self._ruled(layer, now)
            with torch.enable_grad():
                yield
        finally:
            for layer in [*self.frozen, *self.layers]:
                layer.module.__dict__.pop("forward", None)

    def _ruled(self, layer: Layer, now: Pass) -> Callable[..., Tensor]:
        rule, module = layer.rule, layer.module
        assert rule is not None

        def forward(x: Tensor, *others: Any, **named: Any) -> Tensor:
            if others or named:
                raise WorkbenchError(f"Expected one input of {layer.name} ({type(module).__name__}), got further arguments.")
            check_rows(layer.name, module, x, now.rows)
            self._count(layer, now)
            if x.is_floating_point() and torch.is_autocast_enabled(x.device.type):
                x = x.to(torch.get_autocast_dtype(x.device.type))
            return RunLayer.apply(now.anchor, rule.prepare(module, x), module, rule, now)

        return forward

    def _frozen(self, layer: Layer, now: Pass) -> Callable[..., Tensor]:
        module = layer.module

        def forward(x: Tensor, *others: Any, **named: Any) -> Tensor:
            check_rows(layer.name, module, x, now.rows)
            return type(module).forward(module, x, *others, **named)

        return forward

    def _unit(self, layer: Layer, now: Pass) -> Callable[..., Any]:
        def forward(*args: Any, **kwargs: Any) -> Any:
            self._count(layer, now)
            return UnitCall(layer.name, layer.module, (args, kwargs), now).run()

        return forward

    def _count(self, layer: Layer, now: Pass) -> None:
        for parameter in layer.parameters:
            now.uses[parameter] = now.uses.get(parameter, 0) + 1


def storages(module: nn.Module) -> frozenset[int]:
    """What identifies the memory of a module's own tensors, which are no record's however long they are."""
    own = [*module.parameters(), *module.buffers()]
    return frozenset(tensor.untyped_storage()._cdata for tensor in own)
