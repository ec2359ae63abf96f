"""What shipped comparisons ask, held against what the papers print: their settings, and the direction that they report."""

import pytest

from workbench.recipes.directions import Direction
from workbench.recipes.lines import Recipe, load_recipe


def paper_says(recipe: Recipe, measure: str) -> list[Direction]:
    assert recipe.comparison is not None
    return [one for one in recipe.comparison.directions if one.stated_by == "paper" and one.measure == measure]


@pytest.mark.parametrize(("name", "dataset"), [("ddm-removal", "breast-cancer"), ("ddm-removal-patients", "patients")])
def test_wei_et_al_say_that_models_without_the_most_exposed_surpass_the_others(name: str, dataset: str) -> None:
    recipe = load_recipe(f"comparisons/{name}")
    said = paper_says(recipe, "accuracy_logistic_regression")
    assert {(one.higher, one.lower) for one in said} == {
        (("without the most exposed",), ("all records",)),
        (("without the most exposed",), ("without as many at random",)),
    }
    assert {line.dataset for line in recipe.runs} == {dataset}
