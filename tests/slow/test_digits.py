"""The digits at full size: workbench/recipes/digits.json, three independent runs a line, against the bars of its README table."""

import statistics
from pathlib import Path
from typing import Any

import pytest
from support.homes import here
from support.slow_tier import DDPM, FLOW, PRIVATE_STEP, trained_by

from workbench.recipes import lines as recipes
from workbench.recipes.reproducing import reproduce

ACCURACY = "accuracy_logistic_regression"
MINUTES = 4
REPEATS = 3
NUM_SAMPLES = 1500

NONPRIVATE = [*FLOW, *DDPM, "workbench/methods/nonprivate/*", "workbench/recipes/digits.json"]
DP_PROMISE = [*FLOW, *DDPM, *PRIVATE_STEP, "workbench/methods/dp_promise/**", "workbench/recipes/digits.json"]
DP_MERF = [
    *FLOW,
    "workbench/methods/dp_merf/*",
    "workbench/methods/embedding.py",
    "workbench/models/embeddings/*",
    "workbench/networks/generator.py",
    "workbench/recipes/digits.json",
]


@pytest.mark.slow(depends=NONPRIVATE, trains=("digits", "nonprivate"))
def test_nonprivate_comes_within_five_points_of_real_data(slow_home: Path, figures: dict[str, Any]) -> None:
    results = reproduce_line("nonprivate", None, figures)
    assert figures["mean"] >= figures["ceiling"] - 0.05
    assert all(result["bound"]["epsilon"] == "inf" for result in results)


@pytest.mark.slow(depends=DP_PROMISE, trains=("digits", "dp-promise"))
@pytest.mark.parametrize(("epsilon", "bar"), [(10.0, 0.82), (1.0, 0.60)])
def test_dp_promise_beats_its_bar_and_public_data_alone(slow_home: Path, figures: dict[str, Any], epsilon: float, bar: float) -> None:
    results = reproduce_line("dp-promise", epsilon, figures)
    check_bounds(results, epsilon)
    assert figures["mean"] >= bar
    assert figures["mean"] - figures["epsilon 0, mean"] > max(figures["spread"], figures["epsilon 0, spread"])


@pytest.mark.slow(depends=DP_MERF, trains=("digits", "dp-merf"))
@pytest.mark.parametrize("epsilon", [10.0, 1.0])
def test_dp_merf_learns_more_than_chance(slow_home: Path, figures: dict[str, Any], epsilon: float) -> None:
    results = reproduce_line("dp-merf", epsilon, figures)
    check_bounds(results, epsilon)
    assert figures["mean"] - figures["spread"] > 0.1


def reproduce_line(method: str, epsilon: float | None, figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one line of the recipe, put its accuracies into `figures`, and check what holds for every line."""
    recipe = recipes.load_recipe("digits")
    (line,) = [run for run in recipe.runs if (run.method, run.epsilon) == (method, epsilon)]
    results = list(reproduce(recipe.model_copy(update={"runs": (line,)}), here(), reuse=True))
    measured = [next(row for row in result["evaluation"]["results"] if row["name"] == ACCURACY) for result in results]
    values = [row["value"] for row in measured]
    figures |= {
        "trained by": trained_by(results),
        "measure": ACCURACY,
        "values": ", ".join(f"{value:.4f}" for value in values),
        "mean": statistics.fmean(values),
        "spread": statistics.stdev(values),
        "ceiling": measured[0]["ceiling"],
        **epsilon_zero(measured),
        "seconds a run": ", ".join(f"{result['seconds']:.0f}" for result in results),
        "bound": results[0]["bound"]["epsilon"],
        "delta": results[0]["bound"]["delta"],
    }
    assert len(results) == len({result["run"] for result in results}) == REPEATS
    assert all(row["num_samples"] == NUM_SAMPLES for row in measured)
    assert max(result["seconds"] for result in results) <= 60 * MINUTES
    return results


def epsilon_zero(measured: list[dict[str, Any]]) -> dict[str, float]:
    """Mean and spread of the public models' accuracies; nothing where there is no public model."""
    values = [row["epsilon_zero"] for row in measured if row["epsilon_zero"] is not None]
    return {"epsilon 0, mean": statistics.fmean(values), "epsilon 0, spread": statistics.stdev(values)} if values else {}


def check_bounds(results: list[dict[str, Any]], epsilon: float) -> None:
    """Every run has a proved bound at the recipe's delta, 1/3000, no larger than asked for."""
    for result in results:
        assert result["bound"]["status"] == "proved"
        assert result["bound"]["epsilon"] <= epsilon
        assert result["bound"]["delta"] == pytest.approx(1 / 3000)
