"""What a sweep asks for: its lines, its identity, and what is refused before anything is planned."""

from typing import Any

import pytest

from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.sweeps.grid import Grid, choices, numbers
from workbench.sweeps.kept import identity


def grid(**given: Any) -> Grid:
    values: dict[str, Any] = {"methods": ("dp-merf", "class-moments"), "dataset": DatasetRef.parse("digits"), "epsilons": (1.0, 10.0)}
    return Grid.of(**values | given)


def test_the_product_of_methods_epsilons_settings_and_seeds() -> None:
    recipe = grid(settings={"dp-merf:training.steps": (5, 10)}, seeds=(0, 1)).recipe()
    assert [line.name for line in recipe.runs] == [
        "dp-merf, epsilon 1, training.steps 5",
        "dp-merf, epsilon 1, training.steps 10",
        "dp-merf, epsilon 10, training.steps 5",
        "dp-merf, epsilon 10, training.steps 10",
        "class-moments, epsilon 1",
        "class-moments, epsilon 10",
    ]
    assert len(recipe.seeded_runs) == 12
    assert grid(settings={"dp-merf:training.steps": (5, 10)}, seeds=(0, 1)).count() == 12, "as is said before any begins"
    assert [(line.epsilon, line.settings) for line in recipe.runs[1:3]] == [(1.0, {"training.steps": 10}), (10.0, {"training.steps": 5})]
    assert recipe.measure == "accuracy_logistic_regression"
    assert grid(dataset=DatasetRef.parse("breast-cancer"), methods=("mst",), repeats=3).recipe().runs[0].all_seeds == (None,) * 3


def test_equal_requests_have_one_identity_and_others_another() -> None:
    """However numbers are written and whatever the title; a seed, a setting or a measure more is another sweep."""
    expected = identity(grid(settings={"dp-merf:training.steps": (5,)}).recipe("one"))
    assert identity(grid(epsilons=(1, 10, 1.0), settings={"dp-merf:training.steps": (5, 5)}).recipe("other")) == expected
    others = [{"seeds": (0,)}, {"repeats": 2}, {"settings": {"dp-merf:training.steps": (6,)}}, {"metrics": ("accuracy_mlp",)}]
    identities = {identity(grid(**{"settings": {"dp-merf:training.steps": (5,)}, **other}).recipe()) for other in others}
    assert len(identities - {expected}) == 4


def test_epsilons_that_the_paper_claims_are_another_sweep() -> None:
    """Asked of the bound, nothing is written of it: a sweep from before there was a choice keeps its identity."""
    claimed, proved = (grid(methods=("dp-merf",), target=target).recipe() for target in ("claim", "bound"))
    assert [(line.name, line.request.target) for line in claimed.runs] == [
        ("dp-merf, claimed epsilon 1", "claim"),
        ("dp-merf, claimed epsilon 10", "claim"),
    ]
    assert [line.model_dump(exclude_defaults=True) for line in proved.runs] == [
        {"name": f"dp-merf, epsilon {epsilon}", "method": "dp-merf", "dataset": "digits", "epsilon": epsilon} for epsilon in (1, 10)
    ]
    assert identity(proved) == identity(grid(methods=("dp-merf",)).recipe()) != identity(claimed)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": (0,), "repeats": 2}, "Expected seeds or repeats"),
        ({"methods": ("dp-merf", "nothing")}, "Unknown method 'nothing'"),
        ({"epsilons": (1.0, -1.0)}, "Expected a finite epsilon above 0, got -1.0"),
        ({"settings": {"training.steps": (5,)}}, "Unknown field of"),  # class-moments has no training
        ({"settings": {"mst:sets": ("a",)}}, "Unknown method of this sweep 'mst'"),
        ({"repeats": 300}, "Expected at most 1000 runs in a sweep, got 1200"),
        ({"target": "audit"}, "The sweep cannot be planned. target"),
        ({"num_samples": 1}, "The sweep cannot be planned. num_samples"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        grid(**given).recipe()


def test_values_are_read_between_commas_outside_of_brackets() -> None:
    assert choices(["a=1,2.5,text", "b=[1,2],[3]", 'c="x,y",z', "m:d=true"]) == {
        "a": (1, 2.5, "text"),
        "b": ([1, 2], [3]),
        "c": ("x,y", "z"),
        "m:d": (True,),
    }
    assert numbers(".2, 1,10", "epsilons") == (0.2, 1.0, 10.0)
    for wrong in ("1,x", "", ","):
        with pytest.raises(WorkbenchError, match="Expected epsilons as numbers between commas"):
            numbers(wrong, "epsilons")
    for text in (["a"], ["=1"], ["a="], ["a=1", "a=2"]):
        with pytest.raises(WorkbenchError):
            choices(text)
