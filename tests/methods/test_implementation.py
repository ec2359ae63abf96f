"""The class of a method plans; the module that it names reads records: what is named is there, and nothing is named in vain."""

import inspect
from importlib import import_module
from typing import ClassVar

import pytest
from support.quick import quick_plan

from workbench.methods import METHODS
from workbench.methods.base import Method
from workbench.methods.implementation import NEEDED, implementation_of

PARAMETERS = {
    "initial_state": ["config", "facts", "state"],
    "fit": ["config", "data", "public", "state"],
    "sample": ["config", "state", "request"],
    "noise_share": ["config", "state"],
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_names_a_module_with_what_is_needed(method: str) -> None:
    module = import_module(METHODS[method].implementation)
    for name, parameters in PARAMETERS.items():
        if name in NEEDED or hasattr(module, name):
            assert list(inspect.signature(getattr(module, name)).parameters) == parameters


@pytest.mark.parametrize("method", METHODS)
def test_no_method_imports_inside_its_functions(method: str) -> None:
    """The base class delegates; a method's own import inside a function would hide where its torch begins."""
    source = inspect.getsource(METHODS[method])
    assert [line for line in source.splitlines() if line.strip().startswith(("import ", "from "))] == []


def test_a_module_that_lacks_something_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match=r"Expected initial_state, fit, sample in workbench.errors, which dp-merf names"):
        implementation_of("dp-merf", "workbench.errors")


def test_a_method_without_a_module_is_told_what_to_do() -> None:
    class Bare(METHODS["dp-merf"]):
        implementation: ClassVar[str] = ""

    bare: Method = Bare(quick_plan("dp-merf").build().config)
    with pytest.raises(NotImplementedError, match="Expected dp-merf to name its module in `implementation`, or to override initial_state"):
        _ = bare.implemented
