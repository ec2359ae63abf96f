"""The class of a method plans; the module that it names, or the class itself, reads records: what is named is there, with all it needs."""

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.odd_methods import odd
from support.quick import quick_plan

from workbench import methods
from workbench.methods import METHODS
from workbench.methods.base import Method
from workbench.methods.implementation import NEEDED, implementation_of
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State

PARAMETERS = {
    "initial_state": ["config", "facts", "state"],
    "fit": ["config", "data", "public", "state"],
    "sample": ["config", "state", "request"],
    "noise_share": ["config", "state"],
    "class_noise_share": ["config", "state"],
    "noise_by_class": ["config", "state"],
}


def own_functions(kind: type[Method]) -> Iterator[tuple[str, Callable[..., Any], list[str]]]:
    """Names, functions and expected parameters of what a method has: in the module that it names, or in the class where it names none."""
    where = import_module(kind.implementation) if kind.implementation else kind
    for name, parameters in PARAMETERS.items():
        function = getattr(where, name, None)
        if function is not None and function is not getattr(Method, name):
            yield name, function, parameters if kind.implementation else ["self", *parameters[1:]]


def check_functions(kind: type[Method]) -> None:
    """A method has all that is needed, with the parameters that the base class hands on."""
    functions = {name: (function, parameters) for name, function, parameters in own_functions(kind)}
    missing = [name for name in NEEDED if name not in functions]
    assert missing == [], f"{kind.name} names its module in `implementation`, or its class overrides {', '.join(missing)}."
    for name, (function, parameters) in functions.items():
        assert list(inspect.signature(function).parameters) == parameters, name


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_what_is_needed_in_its_module_or_its_class(method: str) -> None:
    check_functions(METHODS[method])


def test_a_method_may_be_one_file() -> None:
    kind = odd("odd-mean")
    assert kind.implementation == ""
    check_functions(kind)


def test_a_class_that_names_no_module_and_lacks_a_function_is_noticed() -> None:
    class Sampling(METHODS["dp-merf"]):
        implementation: ClassVar[str] = ""

        def sample(self, state: State, request: SampleRequest) -> Records:
            raise NotImplementedError

    class Renaming(odd("odd-mean")):
        def sample(self, state: State, wanted: SampleRequest) -> Records:
            raise NotImplementedError

    with pytest.raises(AssertionError, match="its class overrides initial_state, fit"):
        check_functions(Sampling)
    with pytest.raises(AssertionError, match="sample"):
        check_functions(Renaming)


PAGES = sorted(Path(methods.__file__).parent.rglob("*.py"))
LONGEST_PAGE = 600


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_a_page_is_short_and_has_no_import_inside_a_function(page: Path) -> None:
    """The base class delegates; an import inside a function would hide where torch begins."""
    source = page.read_text()
    assert source.count("\n") <= LONGEST_PAGE
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [node.lineno for node in inside] == []


def test_a_module_that_lacks_something_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match=r"Expected initial_state, fit, sample in workbench.errors, which dp-merf names"):
        implementation_of("dp-merf", "workbench.errors")


def test_a_method_without_a_module_is_told_what_to_do() -> None:
    class Bare(METHODS["dp-merf"]):
        implementation: ClassVar[str] = ""

    bare: Method = Bare(quick_plan("dp-merf").build().config)
    with pytest.raises(NotImplementedError, match="Expected dp-merf to name its module in `implementation`, or to override initial_state"):
        _ = bare.implemented
