"""torch, imported when something of it is first used: plans, claims and pages do without it, and importing it takes seconds.

For modules that both sides import: pages and plans for their values (registries of samplers and measures, `PerformanceSettings`,
`Step`), what trains and measures for their functions. Without it each of them would be two, or import torch in every function.
Whatever only trains imports torch at its head, and is itself imported when training starts.
"""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class LazyModule:
    """Stands for a module by name; its first use imports it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import torch as torch
else:
    torch = LazyModule("torch")


def without_gradients(function: Callable[P, R]) -> Callable[P, R]:
    """`torch.no_grad()` as a decorator that does not need torch before the function is called."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with torch.no_grad():
            return function(*args, **kwargs)

    return call
