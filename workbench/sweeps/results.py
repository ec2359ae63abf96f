"""What a sweep came to, by the code that reads a recipe's results: a table, a picture with spread, a frame."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.measured import WRITTEN
from workbench.recipes import documents
from workbench.recipes.lines import Recipe, RecipeRun
from workbench.recipes.picture_of_many import draw_measures
from workbench.recipes.report import Line, measured_lines, summary_rows
from workbench.recipes.rows import result_rows

if TYPE_CHECKING:
    import pandas as pd

Results = Sequence[Mapping[str, Any]]


def table(results: Results) -> list[dict[str, Any]]:
    """A row a line and measure: mean and spread over the runs, with epsilon 0 and the ceiling; each number is marked."""
    return summary_rows(results)


def frame(recipe: Recipe, results: Results) -> "pd.DataFrame":
    """A row a run and measure with the columns of `workbench.measured`, and before them what the line asks for.

    `asked_epsilon` is the target, and each setting of a line has a column `set.NAME`, empty where the line does not set it.
    """
    import pandas as pd

    line_fields = {line.name: {"asked_epsilon": line.epsilon, **_settings(line)} for line in recipe.runs}
    columns = list(dict.fromkeys(name for values in line_fields.values() for name in values))
    rows = [{**dict.fromkeys(columns), **line_fields[row["line"]], **row} for row in result_rows(recipe, results)]
    return pd.DataFrame(rows, columns=[*columns, *WRITTEN])


def picture(recipe: Recipe, results: Results, path: Path) -> Path:
    """Write the picture of the recipe's measure over the proved bound: every run a point, mean and deviation a bar; returns its path.

    Where there are more methods than colours it shows all measures, a row a method.
    """
    if not series(recipe, results):
        raise WorkbenchError(f"Expected runs measured by {recipe.measure}, got none yet.")
    columns = documents.columns_of(results, recipe)
    draw_measures({heading: _in_series(lines, recipe) for heading, lines in columns.items()}, path, recipe.title, spread=True)
    return path


def write(recipe: Recipe, results: Results, path: Path) -> tuple[Path, ...]:
    """Write the results as `workbench reproduce --out` does, and their document (.md) and picture (.png) beside; returns all paths."""
    from workbench.recipes import pieces

    pieces.write(recipe, list(results), path)
    document, drawn = documents.write(results, recipe, path)
    return path, document, picture(recipe, results, drawn) if series(recipe, results) else drawn


def _settings(line: RecipeRun) -> dict[str, Any]:
    return {f"set.{name}": value for name, value in line.settings.items()}


def series(recipe: Recipe, results: Results) -> list[Line]:
    """The lines that the recipe's measure was taken of, each under the name of its series in a picture: its method with what it sets."""
    return _in_series(measured_lines(results, recipe.measure), recipe)


def _in_series(lines: Sequence[Line], recipe: Recipe) -> list[Line]:
    return [_line_with_settings(line, recipe) for line in lines if line.values]


def _line_with_settings(line: Line, recipe: Recipe) -> Line:
    run = next(one for one in recipe.runs if one.name == line.name)
    return line.model_copy(update={"method": ", ".join([run.method, *(f"{name} {value}" for name, value in run.settings.items())])})
