# pyright: basic
"""Any other module, through `torch.func`: run record by record forwards, differentiated record by record backwards."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap
from torch.utils._pytree import tree_flatten, tree_unflatten

from workbench.errors import WorkbenchError
from workbench.training.per_record.contributions import StoredGradient
from workbench.training.per_record.rules import Pass


class UnitCall:
    """One call of a module with all that is inside it, as a function of its parameters and of one record's tensors.

    Tensors among the arguments whose first dimension is the number of rows are split by record; the others, and the module's
    own (a positional table in a buffer, say), are shared by all records. Every output must be a floating tensor with the rows
    first (or no tensor at all).
    """

    def __init__(self, name: str, module: nn.Module, arguments: tuple[tuple[Any, ...], dict[str, Any]], now: Pass) -> None:
        self.name, self.module, self.now = name, module, now
        self.leaves, self.spec = tree_flatten(arguments)
        self.tensors = [leaf for leaf in self.leaves if isinstance(leaf, Tensor)]
        self.split = [
            tensor.dim() > 0 and tensor.shape[0] == now.rows and tensor.untyped_storage()._cdata not in now.own for tensor in self.tensors
        ]
        self.device_type = self.tensors[0].device.type if self.tensors else "cpu"
        self.autocast = torch.is_autocast_enabled(self.device_type), torch.get_autocast_dtype(self.device_type)
        self.trainable = {key: p for key, p in module.named_parameters() if p.requires_grad}
        self.output_spec: Any = None
        self.output_leaves: list[Any] = []

    def run(self) -> Any:
        """The module's output, computed one record at a time so that no record can see another."""
        outputs = iter(RunUnit.apply(self.now.anchor, self, *self.tensors))
        leaves = [next(outputs) if leaf is OUTPUT else leaf for leaf in self.output_leaves]
        return tree_unflatten(leaves, self.output_spec)

    def forward(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """All records' outputs, rows first."""
        parameters = {key: p.detach() for key, p in self.trainable.items()}
        outputs = self._map(lambda *values: self._record(parameters, values), tuple(self.dims()), self._by_record(tensors))
        for output in outputs:
            if output.dim() < 2 or output.shape[1] != self.now.noise_multiplicity:
                raise WorkbenchError(
                    f"Expected the outputs of {self.name} to have one row per input row, got {tuple(output.shape[1:])} for "
                    f"{self.now.noise_multiplicity} rows: give it batch-first inputs."
                )
        return tuple(torch.ops.aten._unsafe_view(output.contiguous(), output.flatten(0, 1).shape) for output in outputs)

    def backward(self, tensors: Sequence[Tensor], grads: Sequence[Tensor], needs: Sequence[bool]) -> list[Tensor | None]:
        """Gradients of the inputs (None where not needed); the parameters' go into the pass."""
        wanted = [i for i, need in enumerate(needs) if need]

        def pull(record_grads: tuple[Tensor, ...], *values: Tensor) -> tuple[dict[str, Tensor], tuple[Tensor, ...]]:
            def run(parameters: dict[str, Tensor], inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
                chosen = dict(zip(wanted, inputs, strict=True))
                return self._record(parameters, [chosen.get(i, value) for i, value in enumerate(values)])

            parameters = {key: p.detach() for key, p in self.trainable.items()}
            return vjp(run, parameters, tuple(values[i] for i in wanted))[1](record_grads)

        by_record = tuple(self.now.by_record(grad) for grad in grads)
        gradients, inputs = self._map(pull, (0, *self.dims()), [by_record, *self._by_record(tensors)])
        for key, gradient in gradients.items():
            self.now.add(self.trainable[key], StoredGradient(gradient))
        results: list[Tensor | None] = [None] * len(tensors)
        for i, gradient in zip(wanted, inputs, strict=True):
            results[i] = gradient.flatten(0, 1) if self.split[i] else gradient.sum(0)
        return results

    def dims(self) -> list[int | None]:
        """Which tensors `vmap` splits."""
        return [0 if split else None for split in self.split]

    def _by_record(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        return [self.now.by_record(tensor) if split else tensor for tensor, split in zip(tensors, self.split, strict=True)]

    def _map(self, function: Callable[..., Any], in_dims: tuple[Any, ...], values: Sequence[Any]) -> Any:
        if not any(self.split):
            raise WorkbenchError(f"Expected an input of {self.name} with {self.now.rows} rows first, got none: give it batch-first inputs.")
        try:
            return vmap(function, in_dims=in_dims)(*values)
        except RuntimeError as error:
            raise WorkbenchError(f"torch.func cannot run {self.name} ({type(self.module).__name__}) record by record: {error}") from error

    def _record(self, parameters: dict[str, Tensor], values: Sequence[Tensor]) -> tuple[Tensor, ...]:
        tensors = iter(values)
        args, kwargs = tree_unflatten([next(tensors) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves], self.spec)
        enabled, dtype = self.autocast  # the backward pass runs outside the context that the forward pass ran in
        with plainly(self.module), torch.autocast(self.device_type, dtype, enabled=enabled):
            leaves, self.output_spec = tree_flatten(functional_call(self.module, parameters, args, kwargs))
        self.output_leaves = [OUTPUT if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        return tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))


@contextmanager
def plainly(module: nn.Module) -> Iterator[None]:
    """Within, the module and all inside it run their own forward, not the one that a pass has put over it."""
    over = {inner: inner.__dict__.pop("forward") for inner in module.modules() if "forward" in inner.__dict__}
    try:
        yield
    finally:
        for inner, forward in over.items():
            inner.__dict__["forward"] = forward


OUTPUT = object()  # stands for a tensor among a unit's outputs


class RunUnit(torch.autograd.Function):
    """Runs a unit; its parameters never enter autograd."""

    @staticmethod
    def forward(ctx: Any, _anchor: Tensor, call: UnitCall, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*tensors)
        ctx.call = call
        return call.forward(tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, *ctx.call.backward(ctx.saved_tensors, grads, ctx.needs_input_grad[2:])
