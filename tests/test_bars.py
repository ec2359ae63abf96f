"""The bars that were set before anything was measured, held against the results that are shipped; those that were missed are named."""

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import pytest

RESULTS = Path(__file__).parents[1] / "docs/results"
ATTRIBUTES = ("smile", "glasses", "hair", "length")
REACHED = [  # recipe, line, mean accuracy of three seeds, at least
    ("fashion-mnist", "cluster-moments, bound 1", 0.80),
    ("fashion-mnist", "cluster-moments, bound 10", 0.84),
    ("leaderboard", "MNIST, bound 1: private-evolution", 0.967),
    ("leaderboard", "MNIST, bound 1: votes-and-clusters", 0.975),
    ("leaderboard", "MNIST, bound 10: votes-and-clusters", 0.98),
    ("mnist-eps1", "private-evolution, bound 1", 0.965),
    ("mnist-eps10", "private-evolution, bound 10", 0.975),
    ("frontier", "prior-moments, bound 1", 0.86),
    ("frontier", "prior-moments, bound 10", 0.935),
    *(("baselines", f"{method}, bound 10", 0.85) for method in ("dp-merf", "pearl", "dp-hp", "dp-kernel", "dp-ntk", "p3gm")),
    *(("baselines", f"{method}, bound 10", 0.90) for method in ("dp-mepf", "privimage", "dp-feta with its embedding")),
    ("baselines", "dp-cgan, bound 10", 0.70),
    *(("faces-colour", f"cluster-moments, bound 10: {attribute}", 0.80) for attribute in ATTRIBUTES),
]
MISSED = [  # and by how much: a better result moves its line up
    ("baselines", "dp-feta, bound 10", 0.90, 0.02),
    ("baselines", "psg, bound 10", 0.90, 0.01),
]
ONE_SEED = [
    ("baselines-28x28", "MNIST, bound 1: dp-mepf", 0.86),
    ("baselines-28x28", "Fashion-MNIST, bound 1: dp-mepf", 0.70),
    ("baselines-28x28", "MNIST, bound 10: dp-ldm", 0.90),
    ("baselines-28x28", "MNIST, bound 10: dp-lora", 0.90),
]


@cache
def accuracies(recipe: str) -> dict[str, list[float]]:
    """The accuracy of each seed of every line of a recipe's results, in the order of its seeds."""
    by_line: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for result in json.loads((RESULTS / f"{recipe}.json").read_text())["results"]:
        for measure in (result.get("evaluation") or {"results": []})["results"]:
            if measure["name"] in ("accuracy_cnn", "accuracy_logistic_regression"):
                by_line[result["name"]][result["seed"]] = measure["value"]
    return {name: [of[seed] for seed in sorted(of)] for name, of in by_line.items()}


@pytest.mark.parametrize(("recipe", "line", "bar"), REACHED)
def test_a_bar_that_is_said_to_be_met_is(recipe: str, line: str, bar: float) -> None:
    values = accuracies(recipe)[line]
    assert len(values) == 3
    assert fmean(values) >= bar


@pytest.mark.parametrize(("recipe", "line", "bar"), ONE_SEED)
def test_a_bar_of_one_seed_that_is_said_to_be_met_is(recipe: str, line: str, bar: float) -> None:
    (value,) = accuracies(recipe)[line]
    assert value >= bar


@pytest.mark.parametrize(("recipe", "line", "bar", "within"), MISSED)
def test_a_bar_that_is_said_to_be_missed_is(recipe: str, line: str, bar: float, within: float) -> None:
    assert bar - within < fmean(accuracies(recipe)[line]) < bar


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_faces_stand_above_the_floor_in_every_attribute(attribute: str) -> None:
    scores = accuracies("faces-colour")
    floor = fmean(scores[f"class-moments, bound 10 (floor): {attribute}"])
    assert fmean(scores[f"cluster-moments, bound 10: {attribute}"]) >= floor + 0.05


@pytest.mark.parametrize("bound", [1, 10])
def test_what_is_proposed_costs_no_more_than_it_costs_to_find_out(bound: int) -> None:
    """Permuted digits, paired by five seeds: the interval of the difference lies above -.03."""
    scores = accuracies("comparisons/unlike-default")
    pairs = zip(scores[f"bound {bound}, proposed"], scores[f"bound {bound}, class-moments"], strict=True)
    apart = [proposed - floor for proposed, floor in pairs]
    assert len(apart) == 5
    assert fmean(apart) - 2.776 * stdev(apart) / len(apart) ** 0.5 > -0.03  # Student's t of 4 degrees, 95 %
