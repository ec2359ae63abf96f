# pyright: basic
"""Which modules are known to act row by row, so that records may share a pass; all others see one record at a time.

Proved by their layers: a layer with a rule, a layer of `KNOWN`, a network that `workbench.networks` declares and whose layers
are all known, and whatever runs through `torch.func`, which hands it one record.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook  # pyright: ignore[reportAttributeAccessIssue]

from workbench.errors import WorkbenchError
from workbench.networks import ROW_BY_ROW

ELEMENTWISE: frozenset[type[nn.Module]] = frozenset(
    {nn.Identity, nn.SiLU, nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.Tanh, nn.Sigmoid, nn.Softplus}
)
POOLS: frozenset[type[nn.Module]] = frozenset({nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.Upsample})  # by channel
CONTAINERS: frozenset[type[nn.Module]] = frozenset({nn.Sequential, nn.ModuleList, nn.ModuleDict})
KNOWN = ELEMENTWISE | POOLS | CONTAINERS | ROW_BY_ROW
FIRST_DIMENSIONS: dict[type[nn.Module], str] = {nn.Flatten: "start_dim", nn.Unflatten: "dim"}  # row by row from dimension 1
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def unknown_module(module: nn.Module, ruled: Callable[[nn.Module], bool], units: Iterable[nn.Module]) -> str | None:
    """Why `module` is not known to act row by row; None if it is. `units` run record by record through `torch.func`."""
    if _has_any_global_hook():
        return "hooks on all modules may mix records"
    inside = {id(inner) for unit in units for inner in unit.modules()}
    tops = {id(unit) for unit in units}
    for name, inner in module.named_modules():
        whole = f"{name or 'the module'} ({type(inner).__name__})"
        if any(getattr(inner, kind) for kind in HOOKS) or "forward" in inner.__dict__:
            return f"{whole} has hooks or a forward of its own"
        if id(inner) in tops and type(inner).__call__ is not nn.Module.__call__:
            return f"{whole} has a __call__ of its own"
        if id(inner) not in inside and not (ruled(inner) or is_known(inner)):
            return f"{whole} is not known to act row by row"
    return None


def is_known(module: nn.Module) -> bool:
    """Whether a module without a rule acts row by row, if all that is inside it does."""
    if type(module) in FIRST_DIMENSIONS:
        return cast(int, getattr(module, FIRST_DIMENSIONS[type(module)])) >= 1
    return type(module) in KNOWN


def check_rows(name: str, layer: Any, x: Tensor, rows: int) -> None:
    """Refuse an input whose first dimension is not the pass's rows, or that the layer would take for a single record."""
    if x.dim() == 0 or x.shape[0] != rows:
        raise WorkbenchError(f"Expected the input of {name} to have {rows} rows, got shape {tuple(x.shape)}.")
    if x.dim() < least_dimensions(layer):
        raise WorkbenchError(
            f"Expected an input of at least {least_dimensions(layer)} dimensions, rows first, for {name} ({type(layer).__name__}), "
            f"got shape {tuple(x.shape)}: it would take all rows for one record."
        )


def least_dimensions(layer: Any) -> int:
    """Dimensions, that of the rows included, without which a layer would act on the rows together."""
    if isinstance(layer, nn.Embedding):
        return 1
    if isinstance(layer, nn.LayerNorm):
        return len(layer.normalized_shape) + 1
    if hasattr(layer, "kernel_size"):
        return len(layer.kernel_size) + 2
    return INSTANCE_NORMS.get(type(layer), 2)


INSTANCE_NORMS: dict[type[nn.Module], int] = {nn.InstanceNorm1d: 3, nn.InstanceNorm2d: 4, nn.InstanceNorm3d: 5}


def each_row(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of rows (B, ...), given one row at a time (as a batch of one): no row can see another.

    A function that looks at values to decide what to do, or draws random numbers, is refused with a WorkbenchError.
    """

    def of_one(*row: Tensor) -> Any:
        result = function(*(value.unsqueeze(0) for value in row))
        return tuple(value.squeeze(0) for value in result) if isinstance(result, tuple) else result.squeeze(0)

    def of_all(*rows: Tensor) -> Any:
        try:
            return torch.func.vmap(of_one)(*rows)
        except (RuntimeError, ValueError) as error:
            raise WorkbenchError(f"torch.func cannot run {getattr(function, '__name__', function)} row by row: {error}") from error

    return of_all
