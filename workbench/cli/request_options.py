"""The options of a request, declared once: `plan` and `train` take them in the place of a value that says what is asked for."""

import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

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
class RequestOptions:
    """What the options of a request say: a field an option, in the order in which `--help` lists them."""

    method: MethodName = None
    request: RequestFile = None
    dataset: DatasetPlace = None
    name: OwnName = None
    resize: Resize = None
    classes: Classes = None
    split_seed: SplitSeed = 0
    label: Label = None
    declared: Declared = None
    held_out: HeldOut = None
    epsilon: Epsilon = None
    delta: Delta = None
    preset: PresetName = "default"
    public: PublicImages = None
    settings: Settings = None
    target: TargetName = "bound"

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
            target: Literal["bound", "claim"] = self.target
            values: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "preset": self.preset, "target": target}
            made = Request.of(self.method, where, **values, settings=parse_settings(self.settings))
            return with_public(made, self.public) if self.public else made
        if by_hand or self != RequestOptions(request=self.request):
            raise WorkbenchError("Give --request, or METHOD and its options, not both.")
        return Request.parse(sys.stdin.read() if self.request == "-" else text_of(Path(self.request)))

    def place(self) -> "DatasetRef | None":
        """The dataset that options name, or None."""
        from workbench.datasets.reference import DatasetRef

        how = (self.name, self.resize, self.classes, self.split_seed, self.label)
        if self.dataset is not None:
            return DatasetRef.parse(self.dataset, *how, declared=self.declared, held_out=self.held_out)
        if any((*how, self.declared, self.held_out)):
            raise WorkbenchError("Expected --dataset beside the options that say how it is read.")
        return None


def with_request_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter is a `RequestOptions`, with the options of a request in that one's place."""
    hints = get_type_hints(command, include_extras=True)
    first, *others = signature(command).parameters.values()
    own = [parameter.replace(annotation=hints[parameter.name]) for parameter in others]
    named = get_type_hints(RequestOptions, include_extras=True)
    kind = Parameter.POSITIONAL_OR_KEYWORD
    options = [Parameter(field.name, kind, default=field.default, annotation=named[field.name]) for field in fields(RequestOptions)]
    assert hints[first.name] is RequestOptions
    assert all(option.default is not MISSING for option in options)

    @wraps(command)
    def run(**given: Any) -> None:
        command(RequestOptions(**{option.name: given.pop(option.name) for option in options}), **given)

    setattr(run, "__signature__", signature(command).replace(parameters=[*options, *own]))  # noqa: B010 - a function has no such field by its type
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*options, *own)} | {"return": None}
    return run
