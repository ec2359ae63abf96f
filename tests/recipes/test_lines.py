"""The recipes that are shipped: each of their lines is a request that can be planned."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.homes import here

from workbench.experiment import make_plan
from workbench.methods import METHODS
from workbench.methods.base import Preset, usual_delta
from workbench.plan import Plan
from workbench.recipes import report, reproducing
from workbench.recipes.lines import Recipe, RecipeRun, load_recipe, recipe_names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    """The plans that were made, by the text of what was asked for: lines of one recipe and of several ask for the same."""
    return {}


@pytest.mark.parametrize("name", recipe_names())
def test_every_line_of_a_shipped_recipe_can_be_planned(name: str, plans: dict[str, Plan]) -> None:
    for line in load_recipe(name).runs:
        if line.request.text not in plans:
            plans[line.request.text] = make_plan(line.request)
        plan = plans[line.request.text]
        assert plan.request == line.request
        met = plan.claim if line.target == "claim" else plan.bound
        assert line.epsilon is None or met.epsilon <= line.epsilon
        line.samples(plan)  # refuses what the run of this plan cannot be drawn by
        if line.attribute:
            plan.facts.labelled_by(line.attribute)  # refuses what it cannot be judged by


@pytest.mark.parametrize("name", recipe_names())
def test_every_line_of_a_shipped_recipe_names_its_delta(name: str) -> None:
    """Or its preset does, by its paper: what a recipe asks for does not change with the usual delta."""
    unnamed = [line.name for line in load_recipe(name).runs if line.delta is None and preset_of(line).delta is usual_delta]
    assert unnamed == []


@pytest.mark.parametrize("file", sorted((ROOT / "docs/results").rglob("*.json")), ids=lambda path: path.stem)
def test_recorded_results_hold_at_the_delta_that_their_line_names(file: Path) -> None:
    recipe, results = report.recipe_with_results(file)
    named = {line.name: line.delta or preset_of(line).delta(line.request.facts()) for line in recipe.runs}
    assert results
    assert {(result["name"], result["bound"]["delta"]) for result in results} <= set(named.items())


def test_every_audit_of_a_shipped_recipe_names_its_seed() -> None:
    audited = [line for name in recipe_names() for line in load_recipe(name).runs if line.audit is not None]
    assert audited
    assert all("seed" in line.audit.model_fields_set for line in audited if line.audit is not None)


def preset_of(line: RecipeRun) -> Preset:
    """The preset that the line's settings are laid over."""
    return METHODS[line.method].presets[line.preset]


def test_a_comparison_needs_seeds_and_lines_of_its_own() -> None:
    whole = load_recipe("comparisons/dp-promise-phase-one").model_dump()
    unseeded = [{**line, "seeds": ()} for line in whole["runs"]]
    with pytest.raises(ValidationError, match="Expected seeds of every line"):
        Recipe.model_validate({**whole, "runs": unseeded})
    with pytest.raises(ValidationError, match=r"recipe's own lines, got \['without phase I'\]"):
        Recipe.model_validate({**whole, "runs": whole["runs"][:1]})


def test_the_comparisons_measures_are_taken_of_their_lines() -> None:
    for name in recipe_names():
        recipe = load_recipe(name)
        taken = {line.name: set(line.metrics or ()) for line in recipe.runs}
        for direction in recipe.comparison.directions if recipe.comparison else ():
            assert all(direction.measure in taken[line] for line in direction.lines)


def test_a_comparison_is_run_seed_by_seed_without_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(_workspace: object, line: RecipeRun, seed: int, *_: object) -> dict[str, Any]:
        return {"name": line.name, "seed": seed, "run": f"{line.name} {seed}", "evaluation": {"samples": "default"}}

    monkeypatch.setattr(reproducing, "_make", made)
    monkeypatch.setattr(reproducing, "check", lambda *_: None)
    recipe = load_recipe("comparisons/dp-promise-phase-one")
    completed = [(row["name"], row["seed"]) for row in reproducing.reproduce(recipe, here(), known={("without phase I", 0)})]
    both = ("with phase I", "without phase I")
    assert completed == [("with phase I", 0), *((name, seed) for seed in (1, 2) for name in both)]
    plain = recipe.model_copy(update={"comparison": None})
    assert [row["seed"] for row in reproducing.reproduce(plain, here())] == [0, 1, 2, 0, 1, 2]
