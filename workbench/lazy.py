"""What is imported when it is first used: the names of a package, and torch, which plans, claims and pages do without.

Importing torch takes seconds. It is lazy in modules that both sides import: pages and plans for their values (registries of samplers
and measures, `PerformanceSettings`, `Step`), what trains and measures for their functions. Without it each of them would be two, or
import torch in every function. Whatever only trains imports torch at its head, and is itself imported when training starts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def lazy_names(
    package: str, public: Sequence[str], *, names: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names are loaded on first use; `public` is its `__all__`.

    `names` says for each name in which module of the package it stands, as `{"Stage": "accounting.stages"}`; `modules` does so for
    each module that is known by a shorter name. An unknown name is an AttributeError, as of any module.
    """
    known_modules = modules or {}

    def load(name: str) -> Any:
        if name in known_modules:
            return import_module(f"{package}.{known_modules[name]}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{names[name]}"), name)

    return load, lambda: list(public)


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
