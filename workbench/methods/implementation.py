"""Where a method's records are read and its samples drawn: a module of its own, imported when it is first needed.

A method is planned, explained and priced by its class alone, without torch; `training` beside it, which its class names, has these
functions. The first argument of each is the method's configuration.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from workbench.datasets.base import DatasetFacts
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State, Step

NEEDED = ("initial_state", "fit", "sample")


class Implementation(Protocol):
    """The functions of a method's module; `noise_share(config, state)`, `class_noise_share` and `noise_by_class` may stand
    beside them, and whatever else its class asks for."""

    def initial_state(self, config: Any, facts: DatasetFacts, state: State, /) -> State:
        """As `Method.initial_state`."""
        ...

    def fit(self, config: Any, data: Records, public: Records | None, state: State, /) -> Iterator[Step]:
        """As `Method.fit`."""
        ...

    def sample(self, config: Any, state: State, request: SampleRequest, /) -> Records:
        """As `Method.sample`."""
        ...

    def __getattr__(self, name: str) -> Any:
        """What a method has beside these."""
        ...


@cache
def implementation_of(method: str, module: str) -> Implementation:
    """The module of that name, for the method called `method`; refuses none, and one without what is needed."""
    if not module:
        raise NotImplementedError(f"Expected {method} to name its module in `implementation`, or to override {', '.join(NEEDED)}.")
    imported = import_module(module)
    if missing := [name for name in NEEDED if not callable(getattr(imported, name, None))]:
        raise NotImplementedError(f"Expected {', '.join(missing)} in {module}, which {method} names as its implementation.")
    return cast(Implementation, imported)
