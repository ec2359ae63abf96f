"""The options of a request, declared once: commands take them in the place of a value that says what is asked for.

A sweep, which has several methods, epsilons and values of settings, takes the groups that it has in common with one request.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from workbench.cli.options import (
    Classes,
    DatasetPlace,
    Declared,
    Delta,
    Epsilon,
    HeldOut,
    Label,
    MethodName,
    OwnName,
    PresetName,
    PublicImages,
    RequestFile,
    Resize,
    Settings,
    SplitSeed,
    TargetName,
    parse_settings,
    text_of,
)
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.datasets import DatasetFacts
    from workbench.datasets.reference import DatasetRef
    from workbench.request import Request


@dataclass(frozen=True)
class ReadingOptions:
    """How a dataset is read."""

    name: OwnName = None
    resize: Resize = None
    classes: Classes = None
    split_seed: SplitSeed = 0
    label: Label = None
    declared: Declared = None
    held_out: HeldOut = None

    def of(self, place: str) -> "DatasetRef":
        """The dataset at a place, read so."""
        from workbench.datasets.reference import DatasetRef

        return DatasetRef.parse(place, **vars(self))


@dataclass(frozen=True)
class ConfiguredOptions:
    """What a method is planned with beside an epsilon and settings, of which a request has one and a sweep several."""

    delta: Delta = None
    target: TargetName = "bound"
    preset: PresetName = "default"
    public: PublicImages = None


@dataclass(frozen=True)
class RequestOptions:
    """What the options of a request say: a field an option or a group of them, in the order in which `--help` lists them."""

    method: MethodName = None
    request: RequestFile = None
    dataset: DatasetPlace = None
    reading: ReadingOptions = ReadingOptions()
    epsilon: Epsilon = None
    configured: ConfiguredOptions = ConfiguredOptions()
    settings: Settings = None

    def of(self, by_hand: "DatasetFacts | None" = None) -> "Request":
        """The request of a file (- for standard input), or that of METHOD, a dataset and the options; never of both.

        `by_hand` are facts in the place of a dataset. Public images are put wherever the method takes some.
        """
        from workbench.planning import with_public
        from workbench.request import Request

        place = self.place()
        if place and by_hand:
            raise WorkbenchError("Give --dataset, or --num-records and --shape, not both.")
        if self.request is None:
            where = place or by_hand
            if self.method is None or where is None:
                raise WorkbenchError("Expected METHOD and --dataset, or --request with a file.")
            values = asdict(self.configured)
            public = values.pop("public")
            made = Request.of(self.method, where, epsilon=self.epsilon, settings=parse_settings(self.settings), **values)
            return with_public(made, public) if public else made
        if by_hand or self != RequestOptions(request=self.request):
            raise WorkbenchError("Give --request, or METHOD and its options, not both.")
        return Request.parse(sys.stdin.read() if self.request == "-" else text_of(Path(self.request)))

    def place(self) -> "DatasetRef | None":
        """The dataset that options name, or None."""
        if self.dataset is not None:
            return self.reading.of(self.dataset)
        if self.reading != ReadingOptions():
            raise WorkbenchError("Expected --dataset beside the options that say how it is read.")
        return None


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of a group in the place of each parameter that is one, as `RequestOptions`; groups may have groups."""
    hints = get_type_hints(command, include_extras=True)
    own = [parameter.replace(annotation=hints[parameter.name]) for parameter in signature(command).parameters.values()]
    options = list(_flat(own))

    @wraps(command)
    def run(**given: Any) -> None:
        command(**_values(own, given))

    setattr(run, "__signature__", Signature(options))  # noqa: B010 - a function has no such field by its type
    run.__annotations__ = {option.name: option.annotation for option in options} | {"return": None}
    return run


def _fields(group: Any) -> list[Parameter]:
    named = get_type_hints(group, include_extras=True)
    return [Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=named[field.name]) for field in fields(group)]


def _is_group(annotation: Any) -> bool:
    return is_dataclass(annotation)


def _flat(parameters: Iterable[Parameter]) -> Iterator[Parameter]:
    """Each parameter, or those of the group that it is."""
    for parameter in parameters:
        if _is_group(parameter.annotation):
            yield from _flat(_fields(parameter.annotation))
        else:
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY)


def _values(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter, a group's made of its options'."""
    return {
        parameter.name: kind(**_values(_fields(kind), given)) if _is_group(kind := parameter.annotation) else given[parameter.name]
        for parameter in parameters
    }
