"""A recipe from its first line to its last: planned, trained, sampled, measured, one run after another."""

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from typing import Any

from workbench.errors import WorkbenchError, choose
from workbench.jobs.launchers import Resources, chosen_launcher, has_machines
from workbench.recipes.lines import Recipe, RecipeRun
from workbench.recipes.making import PreparedLine, Progress, alike, launch_or_resume, line_values, prepare, result_of, usable
from workbench.runs.run import Run
from workbench.workspace import Workspace

Used = Mapping[str, Set[tuple[str, str]]]  # by run: what lines before measured on it, sets of samples or a probe, and how each was judged


def reproduce(
    recipe: Recipe,
    workspace: Workspace,
    reuse: bool = False,
    progress: Progress | None = None,
    known: Collection[tuple[str, int | None]] = (),
    on: str | None = None,
    resources: Resources | None = None,
) -> Iterator[dict[str, Any]]:
    """Plan, train, sample and evaluate every run of a recipe in order (of a comparison seed by seed); one plain dict a run, once measured.

    Keys: `name`, `method`, `run`, `seed`, `claim`, `bound`, `seconds` and `peak_bytes` (training), `drawing_seconds` (of
    the samples, None if not noted), `environments` (of its attempts), `evaluation`, and `audit` of a line with canaries. `reuse` takes runs
    with the same plan, dataset, seed, canaries and performance settings, each once, in the place of new ones: finished ones, else
    those at work, else ones to go on with. Lines that ask for the same run and other samples of it, or to be judged by another
    attribute or in other features, share one. A run that fails ends the recipe with its error.
    `known` are names of lines with the seeds whose results are there already: these are left out. Runs train by the launcher `on`, which
    is asked for `resources`, and are measured here.
    """
    check(recipe, workspace, on)
    where = {"on": on, "resources": resources}
    lines = [(line, seed) for line, seed in _in_turn(recipe) if (line.name, seed) not in known]
    used: dict[str, set[tuple[str, str]]] = {}
    for number, (line, seed) in enumerate(lines):
        result = _make(workspace, line, seed, used, reuse, _part_of_progress(progress, number, len(lines)), where)
        used.setdefault(result["run"], set()).add((result["evaluation"]["samples"], line.measures_key))
        yield result


def _in_turn(recipe: Recipe) -> list[tuple[RecipeRun, int | None]]:
    """The runs line by line; of a comparison seed by seed, so that what is there after a break can be compared."""
    if recipe.comparison is None:
        return recipe.seeded_runs
    return sorted(recipe.seeded_runs, key=lambda pair: pair[0].all_seeds.index(pair[1]))


def check(recipe: Recipe, workspace: Workspace, on: str | None = None) -> None:
    """Refuse names, files and devices that would stop the recipe only when a line before has been trained.

    Where its runs train by a launcher of other machines, nobody knows here which devices those have.
    """
    from workbench.evaluation import METRICS, check_feature_kind
    from workbench.planning import make_plan
    from workbench.training.state import PerformanceSettings

    is_here = not has_machines(chosen_launcher(on))
    for name in (recipe.measure, *recipe.also, *recipe.published):
        choose(name, METRICS, "metric")
    for line in recipe.runs:
        facts = line.request.facts(workspace)
        check_feature_kind(line.features or "pixels", facts.kind.name)
        performance = PerformanceSettings.parse(line.performance)
        if is_here:
            performance.torch_device()
        if line.sampling or line.labels:
            line.samples(make_plan(line.request, facts))
        known = METRICS if line.probe is None or line.probe.measures is None else line.probe.measures
        for name in line.metrics or ():
            choose(name, known, "metric")


def _make(
    workspace: Workspace, line: RecipeRun, seed: int | None, used: Used, reuse: bool, progress: Progress, where: dict[str, Any]
) -> dict[str, Any]:
    """One result."""
    setup = prepare(line, line.request.place.load(workspace=workspace))
    run = _trained_run(workspace, setup, seed, used, reuse, lambda share: progress(0.8 * share), where)
    evaluation = line_values(workspace, line, run, setup.samples, lambda share: progress(0.8 + 0.2 * share))
    return result_of(workspace, line, run, evaluation)


def _trained_run(
    workspace: Workspace, setup: PreparedLine, seed: int | None, used: Used, reuse: bool, progress: Progress, where: dict[str, Any]
) -> Run:
    """A finished run of the line; `where` as `launch_or_resume` takes it."""
    from workbench import runs

    line = setup.line
    free = {run for run, measured_on in used.items() if (line.samples_key(setup.samples), line.measures_key) not in measured_on}
    candidates = [run for run in alike(workspace, setup, seed) if run.id in free or (reuse and run.id not in used)]
    run = launch_or_resume(workspace, setup, seed, usable(candidates), **where)
    run = runs.wait(workspace, run.id, progress=lambda now: progress(now.share))
    if run.state != "done":
        raise WorkbenchError(f"Run {run.id} of {line.name!r} is {run.state}: {run.error or 'it was stopped'}")
    return run


def _part_of_progress(progress: Callable[[float], None] | None, number: int, count: int) -> Progress:
    return lambda share: None if progress is None else progress((number + share) / count)
