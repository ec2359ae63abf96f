"""Lines that ask about the training records of a run: what samples show of them, and what leaving some out does."""

from typing import Any

import pytest
from pydantic import ValidationError
from support.homes import here
from support.launchers import Here
from support.tables import toy_table

from workbench.datasets import DATASETS, DatasetEntry
from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS
from workbench.recipes.lines import Recipe
from workbench.recipes.reproducing import check, reproduce

LINE = {"method": "ddm", "dataset": "toy-table", "preset": "published", "num_samples": 60, "seeds": [3]}
SETTINGS = {"unprotected.steps": 60, "network.hidden_width": 8}
TOLD = ("log10_median_delta", "log10_largest_delta")
LEAKAGE = {"asks": "leakage", "draws": 20}


def recipe(*probes: dict[str, Any] | None, metrics: tuple[str, ...] = TOLD) -> Recipe:
    runs = [{**LINE, "name": f"line {number}", "settings": SETTINGS, "probe": probe} for number, probe in enumerate(probes)]
    measures = [("two_way_marginals",) if probe is None or probe["asks"] == "removal" else metrics for probe in probes]
    return Recipe.model_validate({"title": "Probes", "runs": [{**run, "metrics": one} for run, one in zip(runs, measures, strict=True)]})


@pytest.fixture(autouse=True)
def small_table(monkeypatch: pytest.MonkeyPatch, workbench_home: object) -> None:
    monkeypatch.setitem(
        DATASETS, "toy-table", DatasetEntry("A small table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table())
    )
    monkeypatch.setitem(LAUNCHERS, "local", Here())


def test_lines_ask_one_run_for_what_it_shows_and_for_what_is_left_without_some() -> None:
    removals = [{"asks": "removal", "kept": kept, "draws": 20} for kept in ("without the most exposed", "without as many at random")]
    probing = recipe(None, LEAKAGE, LEAKAGE | {"samples": 10}, LEAKAGE | {"release": 25}, *removals)
    results = list(reproduce(probing, here()))
    assert len({result["run"] for result in results}) == 1
    values = [{entry["name"]: entry["value"] for entry in result["evaluation"]["results"]} for result in results]
    for name in TOLD:
        assert values[2][name] == pytest.approx(values[1][name] + 1)
        assert values[3][name] < values[1][name]
    assert values[1][TOLD[0]] < values[1][TOLD[1]]
    assert len({value["two_way_marginals"] for value in (values[0], *values[4:])}) == 3
    assert all(not entry["releasable"] for result in results[1:] for entry in result["evaluation"]["results"])
    assert {result["bound"]["epsilon"] for result in results[4:]} == {"inf"}
    assert "Outside any bound" in results[4]["bound"]["reason"]
    assert Recipe.model_validate(probing.model_dump(mode="json", exclude_defaults=True)) == probing, "as results keep it"


def test_a_probe_has_measures_of_its_own_and_refuses_others() -> None:
    check(recipe(LEAKAGE), here())
    with pytest.raises(WorkbenchError, match="log10_median_delta"):
        check(recipe(LEAKAGE, metrics=("two_way_marginals",)), here())
    with pytest.raises(ValidationError, match="without the most exposed"):
        recipe({"asks": "removal", "kept": "without anybody"})
