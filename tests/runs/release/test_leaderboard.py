"""What the leaderboard's lines make can be given away: of a run without a seed, the export of samples and weights verifies."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.homes import here
from support.quick import QUICK

from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.planning import make_plan
from workbench.recipes.lines import RecipeRun, load_recipe
from workbench.runs.release import export_run, verify
from workbench.runs.run import Run
from workbench.runs.samples import sample_set

LINES = {f"{line.method} at {line.epsilon:g}": line for line in load_recipe("leaderboard").runs if line.audit is None and line.epsilon}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_export_of_a_line_without_its_seeds_verifies(line: RecipeRun, train_here: Callable[..., Run], tmp_path: Path) -> None:
    """On digits, which are at hand, in the few rounds of seconds; a seeded run of the recipe itself is refused."""
    plan = make_plan(line.method, load("digits").facts, epsilon=line.epsilon, delta=line.delta, settings=line.settings | QUICK[line.method])
    run = train_here(plan)
    sample_set(here(), run.id).records(20)
    export_run(here(), run.id, tmp_path / "set.zip")
    checked = verify(tmp_path / "set.zip")
    assert (checked.holds, checked.card.releasable) == (True, True)
    assert checked.card.bound.epsilon == pytest.approx(plan.bound.epsilon)
    assert line.epsilon
    assert checked.card.bound.epsilon <= line.epsilon
    seeded = train_here(plan, seed=line.seeds[0])
    with pytest.raises(WorkbenchError, match="seeded"):
        export_run(here(), seeded.id, tmp_path / "seeded.zip")
