"""The recipes that are shipped: each of their lines is a request that can be planned."""

import pytest

from workbench.experiment import make_plan
from workbench.recipes.lines import load_recipe, recipe_names


@pytest.mark.parametrize("name", recipe_names())
def test_every_line_of_a_shipped_recipe_can_be_planned(name: str) -> None:
    recipe = load_recipe(name)
    for line in recipe.runs:
        plan = make_plan(line.request)
        assert plan.request == line.request
        met = plan.claim if line.target == "claim" else plan.bound
        assert line.epsilon is None or met.epsilon <= line.epsilon
