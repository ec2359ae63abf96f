"""Options that several commands share, and how their text becomes values."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.datasets import DatasetFacts
    from workbench.training.state import PerformanceSettings

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id; `workbench runs` lists them.")]
MethodName = Annotated[str, typer.Argument(metavar="METHOD", help="A method's name; `workbench methods` lists them.")]
Epsilon = Annotated[float | None, typer.Option(help="Target epsilon; it is the proved bound that meets it.")]
Delta = Annotated[float | None, typer.Option(help="Delta; the preset's, else 1/(2 num_records).")]
PresetName = Annotated[str, typer.Option("--preset", help="A named configuration of the method.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the configuration, as network.base_channels=16.")
]
TargetName = Annotated[
    Literal["bound", "claim"], typer.Option("--target", help="What epsilon calibrates: the proved bound, or the paper's claim.")
]
Releasable = Annotated[bool, typer.Option("--releasable", help="Leave out every number that may not leave the room.")]
OwnName = Annotated[
    str | None, typer.Option("--name", help="The name of your own files, which their account in the ledger goes by; the file's by default.")
]
Resize = Annotated[str | None, typer.Option("--resize", metavar="C,H,W", help="Read every image at this size: channels, height, width.")]
Classes = Annotated[str | None, typer.Option("--classes", help="Names of the classes of your own files, as cat,dog, if they have none.")]
Seed = Annotated[int | None, typer.Option(help="Makes the run repeatable and NOT releasable.", min=0)]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until the run has ended; it goes on if you leave.")]
Performance = Annotated[
    list[str] | None, typer.Option("--performance", metavar="KEY=VALUE", help="A setting that changes speed alone, as microbatch_size=500.")
]


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE pairs as a dict; a value is JSON where it parses as such, else text."""
    values = {}
    for setting in settings or []:
        name, separator, text = setting.partition("=")
        if not separator or not name:
            raise WorkbenchError(f"Expected KEY=VALUE, got {setting!r}.")
        values[name] = _parsed(text)
    return values


def parse_performance(device: str, settings: list[str] | None) -> "PerformanceSettings":
    """The device and the settings of speed; an unknown one lists the choices."""
    from workbench.training.state import PerformanceSettings

    return PerformanceSettings.parse({"device": device, **parse_settings(settings)})


def facts_of(
    dataset: str | None, num_records: int | None, shape: str | None, num_classes: int, reading: "dict[str, Any] | None" = None
) -> "DatasetFacts":
    """The public facts of a dataset, or those given by hand in its place; the user's own files are read whole, so that all are checked."""
    from workbench import datasets
    from workbench.datasets.resize import parse_shape

    if dataset is not None:
        if num_records is not None or shape is not None:
            raise WorkbenchError("Give --dataset, or --num-records and --shape, not both.")
        return datasets.load(dataset, **(reading or {})).facts if datasets.is_path(dataset) else datasets.facts(dataset, **(reading or {}))
    if num_records is None or shape is None:
        raise WorkbenchError("Expected --dataset, or --num-records together with --shape.")
    if num_records < 1 or num_classes < 0:
        raise WorkbenchError(f"Expected at least 1 record and no negative number of classes, got {num_records} and {num_classes}.")
    classes = tuple(str(number) for number in range(num_classes))
    return datasets.DatasetFacts(name="given by hand", num_records=num_records, shape=parse_shape(shape), classes=classes)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
