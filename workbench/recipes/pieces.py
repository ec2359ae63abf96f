"""Results that come in pieces, from several machines or days: kept small, put together by line and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.files import write_text_atomically
from workbench.recipes import report
from workbench.serialization import dumps

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe, RecipeRun

Results = Sequence[Mapping[str, Any]]
OF_RUN = ("name", "method", "run", "seed", "seconds", "drawing_seconds")
OF_EPSILON = ("epsilon", "delta", "status", "neighboring_relation")
OF_PLACE = ("workbench", "torch", "processor", "threads", "device")
OF_MEASURE = (
    *("name", "value", "interval", "num_samples", "features", "releasable"),
    *("epsilon_zero", "epsilon_zero_releasable", "ceiling", "ceiling_releasable"),
    *("largest_class", "largest_class_releasable"),
)


def small(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what its line and the code say already: reasons, notes, and all attempts but the last."""
    return {
        **_values_of(result, OF_RUN),
        **{name: _values_of(result[name], OF_EPSILON) for name in ("claim", "bound")},
        "environments": [_values_of(made, OF_PLACE) for made in result["environments"][-1:]],
        "evaluation": {"results": [_values_of(entry, OF_MEASURE) for entry in result["evaluation"]["results"]]},
    }


def results_of(recipe: Recipe, file: Path) -> list[dict[str, Any]]:
    """The results in a file of `workbench reproduce --out` that are `recipe`'s own: of equal lines, its seeds, complete; [] of no file."""
    if not file.exists():
        return []
    before, results = report.recipe_with_results(file)
    equal = {line.name for line in recipe.runs if any(_asks_the_same(line, other) for other in before.runs)}
    keys = {(line.name, seed) for line, seed in recipe.seeded_runs if line.name in equal and seed is not None}
    return [result for result in results if (result["name"], result["seed"]) in keys and _is_complete(result)]


def merged_results(recipe: Recipe, *pieces: Results) -> list[dict[str, Any]]:
    """The results of all pieces in the recipe's order, one a line and seed, the first piece's; every unseeded run stays."""
    unique_results: dict[tuple[str, Any], dict[str, Any]] = {}
    for result in (result for piece in pieces for result in piece):
        unique_results.setdefault((result["name"], result["run"] if result["seed"] is None else result["seed"]), dict(result))
    places = {(line.name, seed): number for number, (line, seed) in enumerate(recipe.seeded_runs)}
    return sorted(unique_results.values(), key=lambda result: places[result["name"], result["seed"]])


def write(recipe: Recipe, results: Results, path: Path) -> Path:
    """Write a recipe's results as JSON, those of a comparison small, a line of text a run; returns its path."""
    if recipe.comparison is None:
        write_text_atomically(path, dumps({"recipe": recipe, "results": results}, indent=2))
        return path
    rows = ",\n".join(dumps(small(result)) for result in results)
    recipe_json = dumps(recipe.model_dump(mode="json", exclude_defaults=True))
    write_text_atomically(path, f'{{"recipe": {recipe_json},\n"results": [\n{rows}\n]}}\n')
    return path


def write_recipe(recipe: Recipe, path: Path) -> Path:
    """Write a recipe as JSON, without what stands at its default; returns its path."""
    write_text_atomically(path, dumps(recipe.model_dump(mode="json", exclude_defaults=True), indent=2))
    return path


def _values_of(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _asks_the_same(line: RecipeRun, other: RecipeRun) -> bool:
    """Whether two lines differ in nothing but their seeds."""
    free = {"seeds": (), "repeats": 1}
    return line.model_copy(update=free) == other.model_copy(update=free)


def _is_complete(result: Mapping[str, Any]) -> bool:
    return all(entry["value"] is not None for entry in result["evaluation"]["results"])
