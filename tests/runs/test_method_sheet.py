"""The contact sheet of several runs: which image stands where, what makes it private, and which runs are refused."""

import io
import math
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image
from support.homes import here
from support.tables import unnamed_columns

from workbench.datasets import load
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.records import ImageKind, Records
from workbench.runs.contact_sheet import PRIVATE, RED
from workbench.runs.method_sheet import ORIGINALS, Entry, MethodSheet, check_same_images, column_of, entries_of, method_sheet, ten_images
from workbench.runs.run import Run
from workbench.runs.samples import sample_set

FACTS = DatasetFacts(name="own", kind=ImageKind(size=(1, 64, 64)), num_records=40, classes=("a", "b", "c", "d"))
CELL = 5 * 65 + 16  # from the left of a cell to that of the next
DOWN = 2 * 65 + 16


def shades(labels: list[int] | None, start: int, count: int = 0) -> Records:
    """Images of one grey each, `start` and up."""
    grey = np.arange(start, start + (count if labels is None else len(labels)), dtype=np.uint8)
    images = np.broadcast_to(grey[:, None, None, None], (len(grey), 1, 64, 64)).copy()
    return Records(images, None if labels is None else np.array(labels))


def entry(method: str, column: float, start: int, **others: object) -> Entry:
    """A run of one image of each class, of greys from `start`."""
    values = {"run": f"{method}{column:g}", "samples": shades([0, 1, 2, 3], start), "releasable": True} | others
    return Entry(method=method, column=column, bound=column, **values)  # type: ignore[arg-type]


def firsts(sheet: MethodSheet, rows: int, columns: int) -> list[list[int]]:
    """The grey of the first image of each cell."""
    pixels = np.asarray(sheet.picture)
    above = next(height for height in range(500) if (pixels[height : height + 64, CELL // 2 :] < 250).any(axis=(1, 2)).all())
    left = next(across for across in range(500) if (pixels[above : above + 64, across : across + 64] < 250).all())
    return [[int(pixels[above + row * DOWN + 32, left + column * CELL + 32, 0]) for column in range(columns)] for row in range(rows)]


def test_methods_are_rows_in_their_order_and_epsilons_columns_from_small_to_large() -> None:
    sheet = method_sheet([entry("dp-merf", 10.0, 10), entry("dpdm", 1.0, 50), entry("dp-merf", 1.0, 90), entry("dpdm", 10.0, 130)], FACTS)
    assert firsts(sheet, 2, 2) == [[90, 10], [50, 130]]
    assert [(row["Row"], row["Column"], row["Run"]) for row in sheet.runs] == [
        ("dp-merf", "epsilon 10", "dp-merf10"),
        ("dp-merf", "epsilon 1", "dp-merf1"),
        ("dpdm", "epsilon 1", "dpdm1"),
        ("dpdm", "epsilon 10", "dpdm10"),
    ]
    assert sheet.alt.startswith("Contact sheet on own: 10 images in each cell, a row each for dp-merf, dpdm; ")
    assert sheet.alt.endswith("; a column each for epsilon 1, epsilon 10")


def test_a_second_run_of_a_method_at_an_epsilon_has_a_row_of_its_own_and_no_bound_is_the_last_column() -> None:
    sheet = method_sheet([entry("dp-merf", 1.0, 10), entry("dpdm", math.inf, 50), entry("dp-merf", 1.0, 90)], FACTS)
    assert [(row["Row"], row["Column"]) for row in sheet.runs] == [
        ("dp-merf", "epsilon 1"),
        ("dp-merf (2)", "epsilon 1"),
        ("dpdm", "no bound"),
    ]


def test_real_records_come_first_in_a_red_frame_and_make_the_sheet_private() -> None:
    entries, records = [entry("dp-merf", 1.0, 10), entry("dp-merf", 10.0, 50)], shades([3, 2, 1, 0] * 8, 100)
    sheet, without = method_sheet(entries, FACTS, records), method_sheet(entries, FACTS)
    assert firsts(sheet, 2, 2) == [[103, 115], [10, 50]], "the first and the fourth original of the first class, as a cell has three"
    assert (sheet.mark, without.mark) == ("private", "releasable")
    assert sheet.notes[0] == PRIVATE
    assert PRIVATE not in without.notes
    assert ORIGINALS in sheet.alt
    red = (np.asarray(sheet.picture) == RED).all(axis=2)
    assert red.any()
    assert not (np.asarray(without.picture) == RED).all(axis=2).any()


def test_a_run_that_may_not_be_released_makes_the_sheet_private_and_says_why() -> None:
    sheet = method_sheet([entry("dp-merf", 1.0, 10), entry("dpdm", 1.0, 50, releasable=False, reason="It is seeded.")], FACTS)
    assert sheet.mark == "private"
    assert "dpdm dpdm1 is private. It is seeded." in sheet.notes
    assert [row["Mark"] for row in sheet.runs] == ["releasable", "private"]


def test_the_file_has_mark_description_and_sentences() -> None:
    sheet = method_sheet([entry("dp-merf", 1.0, 10, cautions=("All look alike.",))], FACTS, shades([0, 1, 2, 3], 90))
    texts = Image.open(io.BytesIO(sheet.png())).text  # type: ignore[attr-defined]
    assert (texts["mark"], texts["description"]) == ("private", sheet.alt)
    assert texts["notes"].startswith(PRIVATE)
    assert texts["notes"].endswith("dp-merf dp-merf1: All look alike.")


def test_the_same_classes_stand_in_the_same_places_and_a_lacking_one_is_white() -> None:
    for order in ([0, 1, 2, 3, 0], [3, 0, 2, 0, 1]):
        images, labels = ten_images(shades(order, 10), FACTS)[:, 0, 0, 0].tolist(), np.array(order)
        firsts_of_classes = [10 + int(np.flatnonzero(labels == label)[0]) for label in range(4)]
        second = 10 + int(np.flatnonzero(labels == 0)[1])
        assert images == [*firsts_of_classes, second, 255, 255, 255, 255, 255]


def test_samples_without_labels_stand_in_their_order_and_the_sheet_says_so() -> None:
    plain = shades(None, 10, 25)
    assert ten_images(plain, FACTS)[:, 0, 0, 0].tolist() == list(range(10, 20))
    assert ten_images(plain, FACTS, 2)[:, 0, 0, 0].tolist() == [*range(30, 35), 255, 255, 255, 255, 255]
    sheet = method_sheet([entry("dp-merf", 1.0, 10), entry("dpdm", 1.0, 50, samples=plain)], FACTS)
    assert [note for note in sheet.notes if "no labels" in note] == ["The samples of dpdm dpdm1 have no labels: they stand in their order."]


def test_a_column_is_the_epsilon_asked_for_where_the_bound_meets_it(queue: Callable[..., Run], quick_plan: Callable[..., Plan]) -> None:
    run = queue(quick_plan("dp-merf"))
    assert run.bound.epsilon < 10.0
    assert column_of(run) == 10.0
    paid = run.model_copy(update={"bound": run.bound.model_copy(update={"epsilon": 12.34567})})
    assert column_of(paid) == 12.35
    request = run.plan.request.model_copy(update={"target": "claim"})
    claimed = run.model_copy(update={"plan": run.plan.model_copy(update={"request": request})})
    assert column_of(claimed) == float(f"{run.bound.epsilon:.4g}") != 10.0


def test_runs_of_other_records_and_runs_without_samples_are_refused(
    train_here: Callable[..., Run], quick_plan: Callable[..., Plan]
) -> None:
    run = train_here(quick_plan("dp-merf"))
    with pytest.raises(WorkbenchError, match=f"Expected runs that have samples, got {run.id} without. `workbench sample RUN` draws some."):
        entries_of(here(), [run])
    sample_set(here(), run.id).records(20)
    (made,) = entries_of(here(), [run])
    assert (made.column, made.releasable, made.reason, len(made.samples)) == (10.0, True, "", 20)
    assert method_sheet([made], run.plan.facts, load("digits").train).mark == "private"

    def on(facts: DatasetFacts) -> Run:
        return run.model_copy(update={"plan": run.plan.model_copy(update={"facts": facts})})

    with pytest.raises(WorkbenchError, match="Expected runs of one dataset, got digits and other"):
        check_same_images([run, on(run.plan.facts.model_copy(update={"name": "other"}))])
    with pytest.raises(WorkbenchError, match="got runs of digits whose records differ"):
        check_same_images([run, run.model_copy(update={"fingerprint": "another"})])
    with pytest.raises(WorkbenchError, match="Expected images"):
        check_same_images([on(run.plan.facts.model_copy(update={"kind": unnamed_columns((3, 3))}))])
