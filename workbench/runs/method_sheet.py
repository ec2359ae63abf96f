"""A contact sheet of several runs on the same images: a row a method, a column an epsilon, real records first where they are asked for."""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.marks import mark
from workbench.records import ImageKind, Records
from workbench.records.images import grid
from workbench.runs.contact_sheet import FRAME, PRIVATE, RED, WHITE, sentence_picture, stacked_pictures
from workbench.runs.run import Run
from workbench.runs.samples.drawn import set_of
from workbench.workspace import Workspace

PLACES, ACROSS = 10, 5  # images of a cell, and how many of them stand side by side
GAP, NAME_WIDTH = 2 * FRAME + 4, 150  # pixels between cells, and of the names at the left
ORIGINALS, NO_RUN = "originals (private)", "no run"
COLUMNS_ARE = (
    "Columns: the epsilon that was asked for, which the run's proved bound meets; "
    "where none was asked for, or the bound is larger, the bound."
)


@dataclass(frozen=True)
class Entry:
    """A run in the sheet: the column it stands in, its samples, and whether they may leave the room (`reason` says why not)."""

    run: str
    method: str
    column: float
    bound: float
    samples: Records
    releasable: bool
    reason: str = ""
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True)
class MethodSheet:
    """The sheet as a picture, its alternative text, the sentences below it, and its runs as rows of a table."""

    dataset: str
    picture: Image.Image
    alt: str
    releasable: bool
    notes: tuple[str, ...]
    runs: tuple[dict[str, str], ...]

    @property
    def mark(self) -> str:
        """Whether it may be shared, in a word."""
        return mark(self.releasable)

    def png(self) -> bytes:
        """The picture as a PNG, with the mark and the sentences in its texts."""
        texts = PngInfo()
        texts.add_text("mark", self.mark)
        texts.add_text("description", self.alt)
        texts.add_text("notes", " ".join(self.notes))
        buffer = io.BytesIO()
        self.picture.save(buffer, format="PNG", pnginfo=texts)
        return buffer.getvalue()


def without_samples(workspace: Workspace, runs: Sequence[Run]) -> list[str]:
    """The ids of those runs that have no samples yet."""
    return [run.id for run in runs if not set_of(workspace, run.id).file.exists()]


def entries_of(workspace: Workspace, runs: Sequence[Run]) -> list[Entry]:
    """Runs as entries of a sheet, by the samples that are there; refused without samples, or where they are not all of the same images."""
    check_same_images(runs)
    if missing := without_samples(workspace, runs):
        raise WorkbenchError(f"Expected runs that have samples, got {', '.join(missing)} without. `workbench sample RUN` draws some.")
    return [_entry(workspace, run) for run in runs]


def check_same_images(runs: Sequence[Run]) -> None:
    """Refuse runs of tables, and runs whose training records are not the same."""
    for run in runs:
        ImageKind.of(run.plan.facts.kind)
    names = list(dict.fromkeys(run.plan.facts.name for run in runs))
    if len(names) > 1:
        raise WorkbenchError(f"Expected runs of one dataset, got {' and '.join(names)}. Choose runs of one.")
    if len({run.fingerprint for run in runs}) > 1:
        raise WorkbenchError(f"Expected runs on the same records, got runs of {names[0]} whose records differ. Choose others.")


def column_of(run: Run) -> float:
    """The epsilon that was asked for where the run's bound meets it, else the bound, to four digits."""
    target = run.plan.target_epsilon
    if target is not None and run.plan.target == "bound" and run.bound.epsilon <= target:
        return target
    return float(f"{run.bound.epsilon:.4g}")


def method_sheet(entries: Sequence[Entry], facts: DatasetFacts, originals: Records | None = None) -> MethodSheet:
    """The sheet of runs on the dataset of `facts`: ten images a run, a class a place, the same in every cell; white where there is none.

    `originals` are training records: they stand in the first row, others in each column, in a red frame, and make the sheet private.
    """
    columns = sorted({entry.column for entry in entries})
    rows = _rows(entries)
    shown: dict[str, list[np.ndarray | None]] = {}
    if originals is not None:
        shown[ORIGINALS] = [ten_images(originals, facts, place) for place in range(len(columns))]
    shown |= {name: [_cell(row.get(column), facts) for column in columns] for name, row in rows.items()}
    notes = _notes(entries, facts, originals is not None)
    named = list(map(_epsilon_words, columns))
    table = _table(shown, named)
    return MethodSheet(
        dataset=facts.name,
        picture=stacked_pictures([table, *(sentence_picture(note, table.width) for note in notes)]),
        alt=_alternative_text(list(shown), named, facts),
        releasable=originals is None and all(entry.releasable for entry in entries),
        notes=notes,
        runs=tuple(
            {"Row": name, "Column": _epsilon_words(entry.column), "Run": entry.run, "Upper bound": f"{entry.bound:.4g}"}
            | {"Mark": mark(entry.releasable)}
            for name, row in rows.items()
            for entry in row.values()
        ),
    )


def ten_images(records: Records, facts: DatasetFacts, part: int = 0) -> np.ndarray:
    """Images uint8 (PLACES, C, H, W), a class a place in turn; without labels in their order. A later `part` has the images that follow."""
    shown = np.full((PLACES, *records.records.shape[1:]), 255, np.uint8)
    if records.labels is None or not facts.classes:
        images = records.records[part * PLACES : (part + 1) * PLACES]
        shown[: len(images)] = images
        return shown
    classes = min(PLACES, facts.num_classes)
    turns = -(-PLACES // classes)
    for place in range(PLACES):
        turn, label = divmod(place, classes)
        number = part * turns + turn
        images = records.records[records.labels == label][number : number + 1]
        shown[place : place + len(images)] = images
    return shown


def _entry(workspace: Workspace, run: Run) -> Entry:
    samples = set_of(workspace, run.id)
    kept = samples.kept_records()
    assert kept is not None
    reason = "" if samples.releasable else samples.release_reason
    return Entry(run.id, run.method, column_of(run), run.bound.epsilon, kept, samples.releasable, reason, samples.cautions)


def _rows(entries: Sequence[Entry]) -> dict[str, dict[float, Entry]]:
    """Entries by row and column; a method with several runs in a column has more rows."""
    methods = list(dict.fromkeys(entry.method for entry in entries))
    rows: dict[str, dict[float, Entry]] = {}
    for entry in sorted(entries, key=lambda entry: methods.index(entry.method)):
        names = (entry.method if number == 1 else f"{entry.method} ({number})" for number in count(1))
        rows.setdefault(next(name for name in names if entry.column not in rows.get(name, {})), {})[entry.column] = entry
    return rows


def _cell(entry: Entry | None, facts: DatasetFacts) -> np.ndarray | None:
    return None if entry is None else ten_images(entry.samples, facts)


def _epsilon_words(epsilon: float) -> str:
    return f"epsilon {epsilon:.4g}" if math.isfinite(epsilon) else "no bound"


def _notes(entries: Sequence[Entry], facts: DatasetFacts, has_originals: bool) -> tuple[str, ...]:
    """What a reader has to know, in the order in which it stands below the picture."""
    classes = [facts.classes[place % min(PLACES, facts.num_classes)] for place in range(PLACES)] if facts.classes else []
    return (
        *([PRIVATE] if has_originals else []),
        COLUMNS_ARE,
        *([f"Classes in each cell, row by row: {', '.join(classes)}; white where there is no image of one."] if classes else []),
        *(
            f"The samples of {entry.method} {entry.run} have no labels: they stand in their order."
            for entry in entries
            if classes and entry.samples.labels is None
        ),
        *(f"{entry.method} {entry.run} is private. {entry.reason}" for entry in entries if not entry.releasable),
        *(f"{entry.method} {entry.run}: {caution}" for entry in entries for caution in entry.cautions),
    )


def _alternative_text(rows: Sequence[str], columns: Sequence[str], facts: DatasetFacts) -> str:
    shown = f"a row each for {', '.join(rows)}; a column each for {', '.join(columns)}"
    return f"Contact sheet on {facts.name}: {PLACES} images in each cell, {shown}"


def _table(shown: dict[str, list[np.ndarray | None]], columns: Sequence[str]) -> Image.Image:
    """Rows of cells under the names of their columns, beside their own; the originals on red."""
    pictures = [[None if cell is None else grid(cell, ACROSS).convert("RGB") for cell in cells] for cells in shown.values()]
    width, height = next(picture.size for row in pictures for picture in row if picture is not None)
    heads = [sentence_picture(column, width) for column in columns]
    names = [sentence_picture(name, NAME_WIDTH) for name in shown]
    left, above = max(name.width for name in names) + GAP, max(head.height for head in heads) + FRAME
    drawn = Image.new("RGB", (left + len(columns) * (width + GAP), above + len(shown) * (height + GAP)), WHITE)
    for column, head in enumerate(heads):
        drawn.paste(head, (left + column * (width + GAP), 0))
    for row, (title, name) in enumerate(zip(shown, names, strict=True)):
        top = above + row * (height + GAP)
        drawn.paste(name, (0, top))
        if title == ORIGINALS:
            drawn.paste(RED, (left - FRAME, top - FRAME, drawn.width - GAP + FRAME, top + height + FRAME))
        for column, picture in enumerate(pictures[row]):
            drawn.paste(sentence_picture(NO_RUN, width) if picture is None else picture, (left + column * (width + GAP), top))
    return drawn
