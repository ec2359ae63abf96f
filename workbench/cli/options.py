"""Options that several commands share, and how their text becomes values."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.datasets import DatasetFacts
    from workbench.jobs.launchers import Resources
    from workbench.training.state import PerformanceSettings

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id; `workbench runs` lists them.")]
JobId = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, or of a job; `workbench jobs` lists both.")]
Samples = Annotated[str, typer.Option("--samples", help="A set of its samples; `workbench samples RUN` lists them.")]
Features = Annotated[
    str | None,
    typer.Option("--features", help="Where distances are taken: pixels, classifier, or a network's file (.pt TorchScript, .pt2 exported)."),
]
MeasuredOn = Annotated[
    str | None,
    typer.Option("--device", help="Where networks, features and distances are computed: cpu (by default), cuda, cuda:N or auto."),
]
Public = Annotated[
    bool,
    typer.Option("--features-public", help="Your word that no private record trained the features' file; else it counts as private."),
]
Out = Annotated[Path | None, typer.Option("--out", help="The file to write.")]
Num = Annotated[int | None, typer.Option("--num", help="Number of samples; as many as training records by default, at most 10 000.")]
MethodName = Annotated[str | None, typer.Argument(metavar="METHOD", help="A method's name; `workbench methods` lists them.")]
RequestFile = Annotated[
    str | None,
    typer.Option("--request", metavar="FILE", help="In the place of METHOD and its options: a request as JSON; - for input."),
]
DatasetPlace = Annotated[str | None, typer.Option("--dataset", help="A name, a folder of class subfolders (as ./NAME), an .npz or a .csv.")]
Label = Annotated[
    str | None, typer.Option("--label", help="The attribute whose values are the classes; of smile+hair, their combinations.")
]
SplitSeed = Annotated[int, typer.Option(help="Splits your own files into training and held-out records.", min=0)]
Epsilon = Annotated[float | None, typer.Option(help="Target epsilon; it is the proved bound that meets it.")]
Delta = Annotated[float | None, typer.Option(help="Delta; the preset's, else 1/(n ln n) of n training records.")]
PublicImages = Annotated[
    str | None,
    typer.Option(
        "--public",
        metavar="NAME_OR_FOLDER",
        help="Public images, wherever the method takes some: a name, or a folder of yours. Your word that they need no protection.",
    ),
]
PresetName = Annotated[str, typer.Option("--preset", help="A named configuration of the method.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the configuration, as network.base_channels=16.")
]
TargetName = Annotated[
    Literal["bound", "claim"], typer.Option("--target", help="What epsilon calibrates: the proved bound, or the paper's claim.")
]
Releasable = Annotated[bool, typer.Option("--releasable", help="Leave out every number that must not be released.")]
OwnName = Annotated[
    str | None, typer.Option("--name", help="The name of your own files, which their account in the ledger goes by; the file's by default.")
]
Resize = Annotated[str | None, typer.Option("--resize", metavar="C,H,W", help="Read every image at this size: channels, height, width.")]
Classes = Annotated[str | None, typer.Option("--classes", help="Names of the classes of your own files, as cat,dog, if they have none.")]
Declared = Annotated[
    str | None,
    typer.Option("--declared", metavar="FILE", help="What is public of the columns of your own .csv; `workbench declare` proposes it."),
]
HeldOut = Annotated[
    str | None,
    typer.Option("--held-out", metavar="FILE", help="A .csv with the held-out rows of your own; all of --dataset is trained on then."),
]
Seed = Annotated[int | None, typer.Option(help="Makes the run repeatable and NOT releasable.", min=0)]
AuditCanaries = Annotated[
    int | None,
    typer.Option("--audit-canaries", help="Put canaries among the records, to measure a lower bound: NOT releasable.", min=2),
]
AuditKind = Annotated[
    Literal["labels", "blank", "patterns"],
    typer.Option("--audit-kind", help="Canaries: real records under other labels, images of one grey, or random patterns."),
]
AuditSeed = Annotated[int | None, typer.Option("--audit-seed", help="Of canaries' places, coins and contents; drawn by default.", min=0)]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until the run has ended; it goes on if you leave.")]
Now = Annotated[bool, typer.Option("--now", help="Start at once, beside whatever is at work, and do not wait for a turn.")]
On = Annotated[
    str | None,
    typer.Option("--on", metavar="ENGINE", help="Where it trains: local, slurm or ray; WORKBENCH_LAUNCHER by default, else local."),
]
OnAgain = Annotated[
    str | None,
    typer.Option("--on", metavar="ENGINE", help="Where it trains now: local, slurm or ray; by default where it did before."),
]
Ask = Annotated[
    list[str] | None,
    typer.Option("--ask", metavar="KEY=NUMBER", help="What an engine is asked for: gpus, cpus, memory (MiB), minutes."),
]
Priority = Annotated[int, typer.Option("--priority", help="Of those that wait, a higher one starts first.", min=-1000, max=1000)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, though an equal plan was started on these records before.")]
Performance = Annotated[
    list[str] | None, typer.Option("--performance", metavar="KEY=VALUE", help="A setting that changes speed alone, as microbatch_size=500.")
]


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE pairs as a dict; a value is JSON where it parses as such, else text."""
    return {name: _parsed_value(text) for name, text in text_pairs(settings).items()}


def text_pairs(settings: list[str] | None) -> dict[str, str]:
    """KEY=VALUE pairs as a dict of texts."""
    values = {}
    for setting in settings or []:
        name, separator, text = setting.partition("=")
        if not separator or not name:
            raise WorkbenchError(f"Expected KEY=VALUE, got {setting!r}.")
        values[name] = text
    return values


def parse_performance(device: str, settings: list[str] | None) -> "PerformanceSettings":
    """The device and the settings of speed; an unknown one lists the choices."""
    from workbench.training.state import PerformanceSettings

    return PerformanceSettings.parse({"device": device, **parse_settings(settings)})


def parse_resources(texts: list[str] | None) -> "Resources":
    """What an engine is asked for; an unknown name lists the choices."""
    from pydantic import ValidationError

    from workbench.errors import choose, first_complaint
    from workbench.jobs.launchers import Resources

    values = parse_settings(texts)
    for name in values:
        choose(name, Resources.model_fields, "resource")
    try:
        return Resources.model_validate(values)
    except ValidationError as error:
        raise WorkbenchError(first_complaint(error)) from None


def facts_by_hand(num_records: int | None, shape: str | None, num_classes: int) -> "DatasetFacts | None":
    """The public facts given in the place of a dataset, or None where none are."""
    from workbench.datasets import DatasetFacts
    from workbench.datasets.resize import parse_shape
    from workbench.records import ImageKind

    if num_records is None and shape is None:
        return None
    if num_records is None or shape is None:
        raise WorkbenchError("Expected --dataset, or --num-records together with --shape.")
    if num_records < 1 or num_classes < 0:
        raise WorkbenchError(f"Expected at least 1 record and no negative number of classes, got {num_records} and {num_classes}.")
    classes = tuple(str(number) for number in range(num_classes))
    kind = ImageKind(size=parse_shape(shape))
    return DatasetFacts(name="given by hand", kind=kind, num_records=num_records, classes=classes)


def check_target(path: Path | None, *suffixes: str) -> None:
    """Refuse a file that cannot be written, before any work is done; None is no file."""
    if path is None:
        return
    if path.suffix not in suffixes:
        raise WorkbenchError(f"Expected a file that ends in {' or '.join(suffixes)}, got {path}.")
    if not path.parent.is_dir():
        raise WorkbenchError(f"Expected a file in a folder that exists, got {path}.")
    if path.is_dir():
        raise WorkbenchError(f"Expected a file, got the folder {path}.")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()  # a folder may look writable and not be
    except OSError as error:
        raise WorkbenchError(f"Expected a file in a folder that can be written, got {path} ({error.strerror}).") from None


def text_of(path: Path) -> str:
    """What stands in a file of a request."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no UTF-8"
        raise WorkbenchError(f"Expected a request as JSON in {path}, which cannot be read ({why}).") from None


def _parsed_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
