"""Methods that live in the tests only, of shapes that the contract allows and the workbench's own do not have; one file each.

Nothing else names them but by the registry below: without a file and its line here the suite is green, and asks for less.
"""

import pytest

from support.odd_methods.guided import GuidedByPrivateClassifier
from support.odd_methods.interleaved import Interleaved
from support.odd_methods.marginals import MarginalsOfTable
from support.odd_methods.mean import Mean
from support.odd_methods.paying_sampler import PayingSampler
from support.odd_methods.per_instance import PerInstance
from support.odd_methods.taking_turns import TakingTurns
from support.odd_methods.teacher import TeacherStudent
from workbench.methods import METHODS
from workbench.methods.base import Method

ODD_METHODS: dict[str, type[Method]] = {
    "odd-marginals": MarginalsOfTable,
    "odd-mean": Mean,
    "odd-teacher": TeacherStudent,
    "odd-guided": GuidedByPrivateClassifier,
    "odd-interleaved": Interleaved,
    "odd-taking-turns": TakingTurns,
    "odd-paying-sampler": PayingSampler,
    "odd-per-instance": PerInstance,
}


def join_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The odd methods are registered for the rest of a test: nothing else introduces them."""
    for name, kind in ODD_METHODS.items():
        monkeypatch.setitem(METHODS, name, kind)


def odd(name: str) -> type[Method]:
    """An odd method, for a test that needs just this one; skipped where it is not registered."""
    if name not in ODD_METHODS:
        pytest.skip(f"{name} is not registered")
    return ODD_METHODS[name]
