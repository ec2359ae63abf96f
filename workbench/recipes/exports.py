"""The synthetic sets of a recipe as files for others: a run of each line without a seed, its samples and its privacy card, verified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.recipes.making import Progress, alike, launch_or_resume, prepare, usable

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe, RecipeRun
    from workbench.runs.run import Run
    from workbench.workspace import Workspace


def export_sets(recipe: Recipe, workspace: Workspace, folder: Path, progress: Progress) -> Iterator[Path]:
    """Write one .zip, as `workbench export` does, for each plan of `recipe` into `folder`, and check it as `workbench verify` does.

    A recipe's seeded runs may not be released, as their noise can be drawn again: each plan is trained once more, with a noise key that
    nobody has, which costs its bound again; a run without a seed of the same plan is taken where there is one. A file that is there stays.
    Lines with canaries among their records have no set.
    """
    lines = lines_of(recipe)
    for number, line in enumerate(lines):
        target = folder / f"{file_name(line)}.zip"
        if not target.exists():
            _export(line, workspace, target, lambda share, before=number: progress((before + share) / len(lines)))
        yield target


def lines_of(recipe: Recipe) -> list[RecipeRun]:
    """A line of each plan that trains on the records as they are and is measured by samples: the one with most samples."""
    lines: dict[str, RecipeRun] = {}
    for line in recipe.runs:
        if line.audit is None and line.probe is None:
            template = line.model_copy(
                update={"name": "", "seeds": (), "repeats": 1, "metrics": None, "attribute": None, "num_samples": None}
            )
            key = template.model_dump_json()
            if key not in lines or (line.num_samples or 0) > (lines[key].num_samples or 0):
                lines[key] = line
    return list(lines.values())


def file_name(line: RecipeRun) -> str:
    """The line's name in letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", line.name.lower()).strip("-.")


def _export(line: RecipeRun, workspace: Workspace, target: Path, progress: Progress) -> None:
    from workbench.runs.release import export_run, verify
    from workbench.runs.samples.drawn import RunSamples

    setup = prepare(line, line.request.place.load(workspace=workspace))
    run = _finished_run(launch_or_resume(workspace, setup, None, usable(alike(workspace, setup, None))), workspace, progress)
    drawn = RunSamples(workspace, run, setup.samples)
    drawn.begin()
    drawn.records(line.num_samples or drawn.default_num_samples)
    export_run(workspace, run.id, target)
    wrong = [f"{name}: {complaint}" for name, complaint in verify(target).checks.items() if complaint]
    if wrong:
        target.unlink()
        raise WorkbenchError(f"Expected the export of run {run.id} to verify, got {'; '.join(wrong)} The file is removed.")


def _finished_run(run: Run, workspace: Workspace, progress: Progress) -> Run:
    """The run when it is done; refuses one that ended otherwise."""
    from workbench import runs

    run = runs.wait(workspace, run.id, progress=lambda now: progress(now.share))
    if run.state != "done":
        raise WorkbenchError(f"Run {run.id} of {run.method} is {run.state}: {run.error or 'it was stopped'}")
    return run
