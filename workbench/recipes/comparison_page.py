"""docs/comparisons.md: every comparison with its question, its lines, what was expected, and the sentence that the runs support."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.marks import MARKS_MEAN, mark, may_leave
from workbench.recipes import comparison_picture, pieces, report
from workbench.recipes.directions import Picture
from workbench.recipes.findings import HOW, Finding, Verdict, findings, values_of
from workbench.recipes.lines import load_recipe, recipe_names

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe, RecipeRun

Results = Sequence[Mapping[str, Any]]
HEAD = (
    "# Comparisons\n\nDoes a setting that a paper recommends help, on data of ours? Each section asks one question, says what was expected "
    "and who says so, and answers with runs on small data at equal seeds: two lines differ in what their names say, and in nothing else. "
    "The verdicts are computed from the runs.\n\n`workbench reproduce comparisons/NAME --reuse --out docs/results/comparisons/NAME.json` "
    "makes the runs of a comparison, or goes on with them. `workbench comparisons docs/results/comparisons > docs/comparisons.md` wrote "
    "this page."
)
TOLD: dict[Verdict, str] = {
    "agrees": "Agrees with {whose}",
    "disagrees": "Disagrees with {whose}",
    "can't tell": "Can't tell whether {whose} holds",
    "not measured": "Can't tell yet: no two seeds have all the lines of a difference",
}
PARTLY: dict[Verdict, str] = {
    "agrees": "in agreement",
    "disagrees": "in disagreement",
    "can't tell": "undecided",
    "not measured": "not measured",
}


def shipped_comparisons() -> dict[str, Recipe]:
    """The comparisons that the workbench brings along, by name."""
    recipes = {name: load_recipe(name) for name in recipe_names()}
    return {name: recipe for name, recipe in recipes.items() if recipe.comparison is not None}


def result_file(folder: Path, name: str) -> Path:
    """Where the results of comparison `name` (comparisons/NAME) are kept in `folder`."""
    return folder / f"{name.rpartition('/')[2]}.json"


def take(folder: Path, piece: Path) -> Path:
    """Add the results of a piece, a file of `workbench reproduce --out`, to those in `folder`, which stay; returns the file."""
    title = report.recipe_with_results(piece)[0].title
    for name, recipe in shipped_comparisons().items():
        if recipe.title == title:
            file = result_file(folder, name)
            return pieces.write(
                recipe, pieces.merged_results(recipe, pieces.results_of(recipe, file), pieces.results_of(recipe, piece)), file
            )
    raise WorkbenchError(f"Expected results of a comparison that the workbench brings along in {piece}, got those of {title!r}.")


def draw(folder: Path) -> list[Path]:
    """Write the pictures of the comparisons that have one beside their results in `folder`; returns their paths."""
    comparisons = [(recipe, result_file(folder, name)) for name, recipe in shipped_comparisons().items()]
    return [
        _draw(recipe, picture, file) for recipe, file in comparisons if (picture := _picture(recipe)) and pieces.results_of(recipe, file)
    ]


def page(folder: Path) -> str:
    """The whole page as Markdown, of the results in `folder`; a comparison without any is listed as not measured yet."""
    parts = [section(name, recipe, pieces.results_of(recipe, result_file(folder, name))) for name, recipe in shipped_comparisons().items()]
    return "\n\n".join([HEAD, HOW, MARKS_MEAN, *parts]) + "\n"


def section(name: str, recipe: Recipe, results: Results) -> str:
    """One comparison."""
    assert recipe.comparison is not None  # what `shipped_comparisons` chose
    wanted = sum(len(line.seeds) for line in recipe.runs)
    parts = [f"## {markdown(recipe.title)}", f"**{markdown(recipe.comparison.question)}** {markdown(recipe.description)} (`{name}`)"]
    if not results:
        return "\n\n".join([*parts, _expectations(recipe), f"Not measured yet: none of {wanted} runs."])
    if len(results) < wanted:
        parts.append(f"Measured in part: {len(results)} of {wanted} runs.")
    cases = findings(recipe.comparison, results)
    at_delta = report.at_delta(result["bound"]["delta"] for result in results)
    parts += ["\n".join(_lines(recipe, results)), at_delta, "\n".join(_directions(cases))]
    if picture := recipe.comparison.picture:
        parts.append(f"![{picture.up} against {picture.across}](results/{name}.png)")
    return "\n\n".join([*parts, sentence(cases)])


def sentence(cases: Sequence[Finding]) -> str:
    """The one sentence that a comparison ends in."""
    whose = "the paper's direction" if all(one.direction.stated_by == "paper" for one in cases) else "the expected direction"
    counts = {verdict: sum(one.verdict == verdict for one in cases) for verdict in TOLD}
    sentences = [TOLD[verdict].format(whose=whose) for verdict in TOLD if counts[verdict] == len(cases)]
    if sentences:
        return f"**{sentences[0]}**{_could_have_shown(cases)}."
    parts = ", ".join(f"{counts[verdict]} {PARTLY[verdict]}" for verdict in PARTLY if counts[verdict])
    return (
        f"**{'In part' if counts['agrees'] else 'None seen'}** in {whose}: of {len(cases)} differences {parts}{_could_have_shown(cases)}."
    )


def _could_have_shown(cases: Sequence[Finding]) -> str:
    """The smallest differences, a range a measure."""
    taken = [one for one in cases if one.smallest is not None]
    if not taken:
        return ""
    by_measure = {
        one.direction.measure: [other.smallest for other in taken if other.direction.measure == one.direction.measure] for one in taken
    }
    ranges = ", ".join(
        f"{_range([value for value in values if value is not None])} in {markdown(measure)}" for measure, values in by_measure.items()
    )
    return f"; the smallest difference that {_range([one.seeds for one in taken])} seeds could have shown is {ranges}"


def _picture(recipe: Recipe) -> Picture | None:
    return recipe.comparison.picture if recipe.comparison else None


def _draw(recipe: Recipe, picture: Picture, file: Path) -> Path:
    path = file.with_suffix(".png")
    comparison_picture.draw(picture, pieces.results_of(recipe, file), path, recipe.title)
    return path


def _expectations(recipe: Recipe) -> str:
    assert recipe.comparison is not None
    said = recipe.comparison.directions
    return "\n".join(f"- {markdown(one.says)} ({markdown(one.source)}): {markdown(one.measure)}" for one in said)


def _lines(recipe: Recipe, results: Results) -> Iterator[str]:
    """A table of the lines: what they claim, what is proved, and the mean and spread of every measure."""
    assert recipe.comparison is not None
    measures = recipe.comparison.measures
    marks = {measure: mark(all(may_leave(entry, "value") for entry in _entries(results, measure))) for measure in measures}
    named = " | ".join(f"{comparison_picture.told_of(results, measure)} ({marks[measure]})" for measure in measures)
    yield f"| line | runs | claim | proved bound | {named} | seconds to train |"
    yield "|" + "---|" * (len(measures) + 5)
    for line in recipe.runs:
        yield _line(line, [result for result in results if result["name"] == line.name], measures)


def _line(line: RecipeRun, results: Results, measures: Iterable[str]) -> str:
    cells = [markdown(line.name), f"{len(results)} of {len(line.seeds)}"]
    cells += [_epsilons(result[kind]["epsilon"] for result in results) for kind in ("claim", "bound")]
    cells += [_mean_and_deviation([*values_of(results, measure).get(line.name, {}).values()]) for measure in measures]
    return f"| {' | '.join([*cells, _range([round(result['seconds']) for result in results])])} |"


def _directions(cases: Sequence[Finding]) -> Iterator[str]:
    """A table of what was expected and found."""
    yield "| expected | who says so | measure | difference | interval | smallest that could be shown | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for one in cases:
        said = one.direction
        numbers = [_short(one.difference), "-" if one.interval is None else " to ".join(map(_short, one.interval)), _short(one.smallest)]
        yield f"| {' | '.join([markdown(said.says), markdown(said.source), markdown(said.measure), *numbers, _verdict(one)])} |"


def _verdict(finding: Finding) -> str:
    return "one seed, undecided" if finding.seeds == 1 else finding.verdict


def _entries(results: Results, measure: str) -> list[Mapping[str, Any]]:
    return [entry for result in results for entry in result["evaluation"]["results"] if entry["name"] == measure]


def _epsilons(values: Iterable[Any]) -> str:
    epsilons = sorted({float(value) for value in values})
    return " to ".join(dict.fromkeys(f"{value:.4g}" if math.isfinite(value) else "none" for value in (epsilons[:1] + epsilons[-1:]))) or "-"


def _mean_and_deviation(values: Sequence[float]) -> str:
    if not values:
        return "-"
    deviation = f" ± {_short(statistics.stdev(values))}" if len(values) > 1 else ""
    return f"{_short(statistics.fmean(values))}{deviation}"


def _range(values: Sequence[float]) -> str:
    """The smallest and the largest value, or the one that there is."""
    return " to ".join(dict.fromkeys(_short(value) for value in (min(values), max(values)))) if values else ""


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
