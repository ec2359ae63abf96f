"""Results in pieces: what is kept of a file, how pieces become one, and the page that they make."""

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.recipes import comparison_page, comparison_picture, pieces, report
from workbench.recipes.directions import Picture
from workbench.recipes.lines import Recipe, load_recipe

ROOT = Path(__file__).parents[2]
NAME = "comparisons/dp-promise-phase-one"
MEASURES = ("frechet_distance", "accuracy_logistic_regression")


def result(line: str, seed: int | None, values: tuple[float | None, float | None], run: str = "abcd2345") -> dict[str, Any]:
    entries = [
        {"name": name, "value": value, "interval": None, "num_samples": 1000, "features": "pixels", "note": "long"}
        | {"releasable": False, "epsilon_zero": None, "epsilon_zero_releasable": False, "ceiling": None, "ceiling_releasable": False}
        for name, value in zip(MEASURES, values, strict=True)
    ]
    epsilon = {"epsilon": 9.98, "delta": 1 / 3000, "status": "proved", "neighboring_relation": "REPLACE_SPECIAL", "reason": "long"}
    made = {"name": line, "method": "dp-promise", "run": run, "seed": seed, "claim": epsilon, "bound": epsilon, "seconds": 30.0}
    made |= {"drawing_seconds": 2.0, "peak_bytes": 5, "environments": [{"workbench": "old"}, {"workbench": "new", "numpy": "2"}]}
    return made | {"evaluation": {"num_samples": 1000, "results": entries}}


def whole(distances: tuple[float, float, float] = (14.0, 15.0, 16.0)) -> list[dict[str, Any]]:
    """Both lines at three seeds; the other line is 4 farther at every seed, and .1 less accurate."""
    ours = [result("with phase I", seed, (value, 0.9 + seed / 100)) for seed, value in enumerate(distances)]
    return ours + [result("without phase I", seed, (value + 4, 0.8 + seed / 100)) for seed, value in enumerate(distances)]


@pytest.fixture
def recipe() -> Recipe:
    return load_recipe(NAME)


def test_pieces_are_put_together_by_line_and_seed_in_the_recipe_s_order(recipe: Recipe) -> None:
    first = [result("without phase I", 1, (1.0, 0.5)), result("with phase I", 2, (2.0, 0.5))]
    second = [result("without phase I", 1, (9.0, 0.9)), result("with phase I", 0, (3.0, 0.5))]
    merged = pieces.merged_results(recipe, first, second)
    keys = [(row["name"], row["seed"], row["evaluation"]["results"][0]["value"]) for row in merged]
    assert keys == [("with phase I", 0, 3.0), ("with phase I", 2, 2.0), ("without phase I", 1, 1.0)]


def test_results_are_kept_small_and_read_as_any_recipe_s(recipe: Recipe, tmp_path: Path) -> None:
    file = pieces.write(recipe, whole(), tmp_path / "found.json")
    again, rows = report.recipe_with_results(file)
    assert (again, rows) == (recipe, [pieces.small(row) for row in whole()])
    assert rows[0]["environments"] == [{"workbench": "new"}]
    assert "long" not in file.read_text()
    assert report.summary_rows(rows) == report.summary_rows(whole())


def test_a_seed_that_the_recipe_no_longer_asks_for_is_not_kept(recipe: Recipe, tmp_path: Path) -> None:
    file = pieces.write(recipe, whole(), tmp_path / "found.json")
    fewer = recipe.model_copy(update={"runs": tuple(line.model_copy(update={"seeds": (0, 1)}) for line in recipe.runs)})
    merged = pieces.merged_results(fewer, pieces.results_of(fewer, file))
    assert [row["seed"] for row in merged] == [0, 1, 0, 1]


def test_what_another_line_found_or_what_is_not_whole_is_not_kept(recipe: Recipe, tmp_path: Path) -> None:
    rows = [*whole(), result("with phase I", None, (1.0, 1.0)), result("without phase I", 7, (1.0, None))]
    file = pieces.write(recipe, rows, tmp_path / "found.json")
    assert pieces.results_of(recipe, tmp_path / "none.json") == []
    assert pieces.results_of(recipe, file) == [pieces.small(row) for row in whole()]
    before = json.loads(file.read_text())
    before["recipe"]["runs"][0]["settings"]["phase_two.steps"] += 1
    before["recipe"]["runs"][1]["seeds"] = [5]
    file.write_text(json.dumps(before))
    assert {row["name"] for row in pieces.results_of(recipe, file)} == {"without phase I"}


def test_a_section_ends_in_what_the_runs_say(recipe: Recipe) -> None:
    def last(rows: list[dict[str, Any]]) -> str:
        return comparison_page.section(NAME, recipe, rows).splitlines()[-1]

    assert last(whole()).startswith("**Agrees with the paper's direction**; the smallest difference that 3 seeds could have shown is ")
    nothing = comparison_page.section(NAME, recipe, [])
    assert nothing.endswith("Not measured yet: none of 6 runs.")
    partly = comparison_page.section(NAME, recipe, whole()[:4])
    assert "Measured in part: 4 of 6 runs." in partly
    assert partly.endswith("**Can't tell yet: no two seeds have all the lines of a difference**.")
    mixed = [result("with phase I", seed, (value, 0.5)) for seed, value in enumerate((14.0, 19.0, 12.0))]
    mixed += [row for row in whole() if row["name"] == "without phase I"]
    assert last(mixed).startswith("**None seen** in the paper's direction: of 2 differences 1 in disagreement, 1 undecided; ")
    better = whole()
    better[0]["evaluation"]["results"][0] = better[0]["evaluation"]["results"][0] | {"value": 400.0}
    assert last(better).startswith("**In part** in the paper's direction: of 2 differences 1 in agreement, 1 undecided; ")


def test_its_table_has_every_line_with_its_runs_and_spread(recipe: Recipe) -> None:
    rows = comparison_page.section(NAME, recipe, whole()).splitlines()
    assert "| with phase I | 3 of 3 | 9.98 | 9.98 | 15 ± 1 | 0.91 ± 0.01 | 30 |" in rows


def test_pieces_from_elsewhere_are_added_and_the_page_printed(recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    parts = [pieces.write(recipe, whole()[at::2], tmp_path / f"piece{at}.json") for at in (0, 1)]
    with pytest.raises(SystemExit) as ended:
        main(["comparisons", str(folder), "--take", str(parts[0]), "--take", str(parts[1])])
    assert ended.value.code == 0
    assert pieces.results_of(recipe, folder / "dp-promise-phase-one.json") == [pieces.small(row) for row in whole()]
    assert capsys.readouterr().out == comparison_page.page(folder)


def test_results_of_no_comparison_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="comparison that the workbench brings along"):
        comparison_page.take(tmp_path, ROOT / "docs/results/floor.json")


def test_the_page_is_that_of_the_results_beside_it() -> None:
    assert (ROOT / "docs/comparisons.md").read_text() == comparison_page.page(ROOT / "docs/results/comparisons")


def test_a_picture_has_a_point_a_line_with_its_spread(tmp_path: Path) -> None:
    picture = Picture(across=MEASURES[0], up=MEASURES[1])
    rows = [result("p3dm, 5", seed, (value, 0.5 + seed / 10)) for seed, value in enumerate((14.0, 15.0, 16.0))]
    rows += [result("p3dm, 10", 0, (3.0, 0.25)), result("p3dm, 10", 1, (9.0, None)), result("dpdm, 10", 2, (4.0, 1.0))]
    series = comparison_picture.series(picture, rows)
    assert list(series) == ["p3dm", "dpdm"]
    assert series["p3dm"] == [("5", 15.0, pytest.approx(0.6), 1.0, pytest.approx(0.1)), ("10", 3.0, 0.25, 0.0, 0.0)]
    comparison_picture.draw(picture, rows, tmp_path / "found.png", "costs $5 and $")
    assert (tmp_path / "found.png").read_bytes().startswith(b"\x89PNG")


def test_points_that_lie_together_share_a_label() -> None:
    places = [("5", 0.0, 0.0), ("10", 1.0, 1.0), ("5", 0.04, 0.04), ("15", 0.04, 0.0), ("far", 0.08, 0.0)]
    labels = comparison_picture.labels([comparison_picture.Point(label, across, up, 0.0, 0.0) for label, across, up in places])
    assert labels == {(0.0, 0.0): "5, 15", (1.0, 1.0): "10", (0.08, 0.0): "far"}
    assert comparison_picture.labels([]) == {}
