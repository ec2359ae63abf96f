"""The defaults of every method, on any dataset: a plan that meets its target, or a refusal that names what to change."""

import itertools
import json
import re
import time
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from workbench import datasets
from workbench.datasets import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.methods.fields import value_at
from workbench.plan import Plan
from workbench.planning import configure, make_plan
from workbench.privacy.accounting.values import Target
from workbench.recipes.lines import FOLDER
from workbench.records import ImageKind

Shape = tuple[int, int, int]
NAMES_A_VALUE = re.compile(r"\b[a-z_.]+=\S+|result for on .* \(\d")  # a field with a value that does, or the epsilons there are
ON_IMAGES = {name: kind for name, kind in METHODS.items() if "image" in kind.kinds}
UNCALIBRATED = {name for name, kind in METHODS.items() if not kind.calibrated_fields}


class Cell(NamedTuple):
    """One plan of a grid."""

    method: str
    preset: str
    num_records: int
    shape: Shape
    epsilon: float


def grid(num_records: tuple[int, ...], shapes: tuple[Shape, ...], epsilons: tuple[float, ...]) -> list[Cell]:
    """Every method's default over all of it, its other presets over records and shapes."""
    sizes = list(itertools.product(num_records, shapes))
    default = [Cell(method, "default", *size, epsilon) for method in ON_IMAGES for size in sizes for epsilon in epsilons]
    others = [(method, preset) for method, kind in ON_IMAGES.items() for preset in kind.presets if preset != "default"]
    return default + [Cell(*other, *size, epsilons[-1]) for other in others for size in sizes]


def small_grid() -> list[Cell]:
    """Few records, where defaults have most to decide, at every size; every preset; the other methods in turn. All is the slow tier's."""
    shapes: tuple[Shape, ...] = ((1, 8, 8), (3, 16, 16), (1, 28, 28), (3, 32, 32), (3, 64, 64))
    few = [(number, shape, (0.5, 2, 10, 20, 0.5)[place]) for number in (100, 501) for place, shape in enumerate(shapes)]
    many: list[tuple[int, Shape, float]] = [(20_000, (1, 8, 8), 0.5), (20_000, (3, 32, 32), 2), (10**6, (1, 28, 28), 20)]
    adapted = [Cell("dp-promise", "default", *size) for size in [*few, *many]]
    whole = [cell for cell in grid((100, 501, 20_000, 10**6), shapes, (0.5, 2, 10, 20)) if cell[:2] != ("dp-promise", "default")]
    return adapted + [cell for number, cell in enumerate(whole) if number % 41 == 0 or (cell.preset != "default" and number % 19 == 0)]


def planned(cell: Cell) -> Plan | str:
    """The plan of a cell, or the refusal, which must say what to change."""
    facts = DatasetFacts(name="own", num_records=cell.num_records, kind=ImageKind(size=cell.shape), classes=("cat", "dog"))
    calibrated = cell.preset == "default" and cell.method not in UNCALIBRATED
    target: Target = "bound" if "bound" in METHODS[cell.method].targets else "claim"
    try:
        plan = make_plan(cell.method, facts, epsilon=cell.epsilon if calibrated else None, preset=cell.preset, target=target)
    except WorkbenchError as error:
        refusal = str(error)
        return refusal if NAMES_A_VALUE.search(refusal) else pytest.fail(f"{cell}: {refusal}")
    if calibrated:
        met = plan.bound if target == "bound" else plan.claim
        assert 0.995 * cell.epsilon <= met.epsilon <= cell.epsilon, cell
    return plan


@pytest.mark.parametrize("cell", small_grid(), ids=lambda cell: "-".join(map(str, cell)).replace(" ", ""))
def test_defaults_plan(cell: Cell) -> None:
    plan = planned(cell)
    assert isinstance(plan, Plan) or cell.preset != "default", plan
    if isinstance(plan, Plan) and plan.config.get("phase_one", {}).get("steps") == 0:
        assert "Phase one is left out" in plan.warnings[0]


@pytest.mark.slow(
    depends=[
        "workbench/planning.py", "workbench/methods/**", "workbench/privacy/accounting/calibration.py",
        "workbench/privacy/accounting/formulas.py", "workbench/privacy/accounting/gaussian.py",
        "workbench/privacy/accounting/accountants/**", "workbench/privacy/accounting/bounds.py",
        "workbench/privacy/accounting/stages.py", "workbench/diffusion/schedules.py",
    ]
)  # fmt: skip
def test_defaults_plan_over_the_whole_grid(figures: dict[str, Any]) -> None:
    shapes: tuple[Shape, ...] = tuple((channels, side, side) for side in (8, 28, 64) for channels in (1, 3))
    rows: dict[str, dict[str, Any]] = {}
    for cell in grid((100, 501, 2000, 10_000, 100_000, 10**6), shapes, (0.5, 2, 10, 20)):
        start = time.process_time()
        plan = planned(cell)
        seconds = time.process_time() - start
        assert isinstance(plan, Plan) or cell.preset != "default", f"{cell}: {plan}"
        name = f"{cell.method} {cell.preset}"
        row = rows.setdefault(name, {"defaults": name, "planned": 0, "adapted": 0, "refused": 0, "slowest, CPU seconds": 0.0, "at": ""})
        row["planned" if isinstance(plan, Plan) else "refused"] += 1
        row["adapted"] += isinstance(plan, Plan) and cell.preset == "default" and any("hase one is" in note for note in plan.warnings)
        if seconds > row["slowest, CPU seconds"]:
            row |= {"slowest, CPU seconds": round(seconds, 2), "at": f"{cell.num_records} of {cell.shape}, epsilon {cell.epsilon:g}"}
    figures["cells"] = sum(row["planned"] + row["refused"] for row in rows.values())
    figures["Plans by default"] = list(rows.values())


OWN = DatasetFacts(name="own", num_records=501, kind=ImageKind(size=(1, 28, 28)), classes=("cat", "dog"))


def test_a_phase_one_that_is_too_much_is_made_smaller_and_the_plan_says_so() -> None:
    """Issue 9, point 15: 501 images of one's own."""
    plan = make_plan("dp-promise", OWN, epsilon=10)
    assert plan.config["phase_one"]["batch_size"] == 8
    assert plan.config["phase_one"]["steps"] == 600
    assert plan.config["boundary"] <= 950
    assert plan.bound.epsilon <= 10
    assert "phase_one.batch_size 8 in place of 32" in plan.warnings[0]
    assert plan.request.settings == {}


def test_without_records_enough_there_is_no_phase_one_and_the_plan_says_so() -> None:
    few = OWN.at_size((3, 64, 64)).model_copy(update={"num_records": 100})
    plan = make_plan("dp-promise", few, epsilon=0.5)
    assert plan.config["phase_one"]["steps"] == 0
    assert "Phase one is left out (phase_one.steps 0 in place of 600)" in plan.warnings[0]
    assert [stage.name for stage in plan.build().stages(few)] == ["public pre-training", "phase two"]


GIVEN: list[dict[str, Any]] = [
    {"phase_one.steps": 600},
    {"phase_one.share": 0.1},
    {"boundary": 940},
    {"phase_one.steps": 600, "phase_one.batch_size": 32, "phase_one.share": 0.1},
    {"phase_one.steps": 600, "phase_one.batch_size": 32, "boundary": 800},
]


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: "-".join(given))
def test_what_is_given_is_never_changed(given: dict[str, Any]) -> None:
    """It is planned as it is or refused, and every value that the refusal names would do."""
    try:
        plan = make_plan("dp-promise", OWN, epsilon=10, settings=given)
    except WorkbenchError as error:
        refusal = str(error)
    else:
        assert {name: value_at(plan.build().config, name) for name in given} == given
        assert plan.config["phase_one"]["steps"] > 0
        return
    assert "phase_one.share" in refusal
    options = re.findall(r"([\w.]+)=([\d.]+\d)", refusal.partition("would do:")[2])
    assert options
    for name, value in options:
        changed = {} if name == "epsilon" else {name: float(value)}
        planned = make_plan("dp-promise", OWN, epsilon=float(value) if name == "epsilon" else 10, settings=given | changed)
        assert planned.warnings == () or "boundary" in given or "phase_one.share" not in given
    if "no boundary of your own" in refusal:
        make_plan("dp-promise", OWN, epsilon=10, settings={name: value for name, value in given.items() if name != "boundary"})


def test_a_preset_is_a_choice_too() -> None:
    with pytest.raises(WorkbenchError, match=r"phase_one\.share"):
        make_plan("dp-promise", OWN, epsilon=1, preset="published", settings={"targets": "renoised", "phase_two.noise_multiplier": None})


BOUNDARIES = {"dp-promise, bound 10": {"digits": 708, "mnist": 829}, "dp-promise, bound 1": {"digits": 860}}


@pytest.mark.parametrize("recipe", ["digits", "mnist"])
def test_recipes_are_planned_as_before(recipe: str) -> None:
    """Nothing of them is adapted, and the boundaries are those that their published figures were made with."""
    sizes: dict[str, Any] = {"name": "mnist", "num_records": 60_000, "kind": ImageKind(size=(1, 28, 28)), "classes": tuple("0123456789")}
    facts = datasets.facts("digits") if recipe == "digits" else DatasetFacts(**sizes)
    for line in json.loads((FOLDER / f"{recipe}.json").read_text())["runs"]:
        plan = make_plan(line["method"], facts, epsilon=line.get("epsilon"), delta=line.get("delta"), settings=line.get("settings", {}))
        assert plan.warnings == (), line["name"]
        assert plan.config.get("boundary") == BOUNDARIES.get(line["name"], {}).get(recipe)


@pytest.mark.parametrize("name", METHODS)
def test_a_field_that_is_given_leaves_the_others_of_its_part_as_they_were(name: str) -> None:
    """The method's own defaults of a part are not those of the part's class: one field given as it was changes nothing."""
    kind, facts = METHODS[name], DatasetFacts(name="any", num_records=5000, kind=ImageKind(size=(1, 8, 8)), classes=tuple("ab"))
    config = configure(kind, facts)
    for part in kind.Config.model_fields:
        if isinstance(values := getattr(config, part), BaseModel):
            given = json.loads(values.model_dump_json())
            for field in given:
                assert configure(kind, facts, {f"{part}.{field}": given[field]}) == config, f"{part}.{field}"
