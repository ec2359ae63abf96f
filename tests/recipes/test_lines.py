"""The recipes that are shipped: each of their lines is a request that can be planned."""

import pytest
from pydantic import ValidationError

from workbench.experiment import make_plan
from workbench.recipes.lines import Recipe, load_recipe, recipe_names


@pytest.mark.parametrize("name", recipe_names())
def test_every_line_of_a_shipped_recipe_can_be_planned(name: str) -> None:
    recipe = load_recipe(name)
    for line in {line.request.text: line for line in recipe.runs}.values():
        plan = make_plan(line.request)
        assert plan.request == line.request
        met = plan.claim if line.target == "claim" else plan.bound
        assert line.epsilon is None or met.epsilon <= line.epsilon


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
